"""CRD, RBAC and deployment YAML, from the types."""

from openclaw.manifests.crd import custom_resource_definition
from openclaw.manifests.errors import ManifestError
from openclaw.manifests.generate import generate
from openclaw.manifests.rbac import operator_role, operator_rules, user_roles
from openclaw.manifests.write import Change, check, write
from openclaw.manifests.yaml import dump, header

__all__ = [
    "Change",
    "ManifestError",
    "check",
    "custom_resource_definition",
    "dump",
    "generate",
    "header",
    "operator_role",
    "operator_rules",
    "user_roles",
    "write",
]
