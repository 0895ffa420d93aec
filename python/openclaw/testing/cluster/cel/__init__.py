"""Rules in the Common Expression Language, as `x-kubernetes-validations` has them."""
