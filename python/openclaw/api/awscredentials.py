"""Where the credentials for AWS come from, when they do not stand in a Secret."""

from __future__ import annotations

from typing import Annotated

from openclaw.api.field import Field
from openclaw.api.markers import Rule
from openclaw.api.model import Model
from openclaw.api.secretref import SecretRef

__all__ = ["AWSCredentials", "AssumedRole", "VaultCredentials"]

_MAX_ROLES = 4


class AssumedRole(Model):
    """A role that is assumed with the credentials at hand."""

    role_arn: str = Field(
        name="roleARN",
        max_length=2048,
        pattern=r"^arn:aws[-a-z]*:iam::[0-9]{12}:role/\S+$",
        pattern_message="must be the ARN of a role, such as arn:aws:iam::123456789012:role/databases",
        description="The role.",
        examples=["arn:aws:iam::123456789012:role/databases"],
    )
    external_id: str | None = Field(
        None,
        name="externalID",
        min_length=2,
        max_length=1224,
        pattern=r"^[\w+=,.@:/-]+$",
        description="The external ID that the role's trust policy asks for.",
    )


_VaultName = Annotated[
    str,
    Field(
        max_length=253,
        pattern=r"^[^\s/]+(/[^\s/]+)*$",
        pattern_message="must be a name or path in Vault, without blanks and without '/' at its ends",
    ),
]


class VaultCredentials(
    Model,
    rules=(
        Rule(
            rule="has(self.awsRole) != has(self.kvPath)",
            message="vault: give awsRole, of its AWS engine, or kvPath, of its KV engine, one of them",
        ),
        Rule(
            rule="has(self.kubernetesRole) != has(self.appRoleSecretRef)",
            message="vault: give kubernetesRole or appRoleSecretRef, one of them: how to log in",
        ),
    ),
):
    """Credentials that Vault makes or keeps. Which Vault it is, is set where the operator runs."""

    aws_role: _VaultName | None = Field(
        None, description="A role of the AWS secrets engine: Vault makes credentials for it."
    )
    kv_path: _VaultName | None = Field(
        None,
        description="A secret of the KV engine, version 2, with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    )
    mount: _VaultName | None = Field(
        None, description="Where the engine is mounted; by default aws, or secret for kvPath."
    )
    kubernetes_role: _VaultName | None = Field(
        None, description="Log in with the operator's service account, in this role of Kubernetes auth."
    )
    app_role_secret_ref: SecretRef | None = Field(
        None, description="Log in by AppRole: a Secret with the keys role_id and secret_id."
    )
    auth_mount: _VaultName | None = Field(
        None, description="Where the auth method is mounted; by default kubernetes or approle."
    )


class AWSCredentials(
    Model,
    rules=(
        Rule(
            rule="!(has(self.podIdentity) && has(self.vault))",
            message="credentials: give podIdentity or vault, not both",
        ),
    ),
):
    """Where the credentials for AWS come from, when they do not stand in a Secret."""

    pod_identity: bool | None = Field(
        None,
        rules=[
            Rule(rule="self", message="podIdentity is true or left out"),
        ],
        description="Use the identity of the operator's pod (IRSA, EKS Pod Identity). It is also what is "
        "used when nothing else is given.",
    )
    vault: VaultCredentials | None = Field(None, description="Take them from Vault.")
    assume_roles: list[AssumedRole] = Field(
        default_factory=list,
        max_items=_MAX_ROLES,
        list_type="atomic",
        description="Roles to assume, each with the credentials of the one before; the first with those of "
        "credentialsSecretRef, the pod or Vault.",
    )
