"""What holds for every test, wherever it lives."""

from hypothesis import settings

# How long an example may take says more about the machine's load than about the code; the time limit of
# the whole test stays. In CI, Hypothesis' own profile adds fixed seeds.
settings.register_profile("default", settings.get_profile("default"), deadline=None)
