"""The HTTPResource kind: one thing behind a JSON API that a few declared requests describe."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from openclaw.api.conditions import Conditions
from openclaw.api.field import Field
from openclaw.api.markers import Rule
from openclaw.api.model import Model
from openclaw.api.options import Age, Column
from openclaw.api.resource import CustomResource
from openclaw.api.secretref import SecretRef

__all__ = ["HTTPResource", "HTTPResourceRequests", "HTTPResourceSpec", "RequestSpec", "StatusMeaning"]

_MAX_ENTRIES = 32
_ELSE = "delete this object and create another one"

StatusMeaning = Literal[
    "Success",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Invalid",
    "Throttled",
    "Unauthorised",
    "Transient",
    "Terminal",
]

_Pointer = Annotated[
    str,
    Field(
        max_length=256,
        pattern="^(/[^/]*)*$",
        pattern_message="must be a JSON pointer such as /data/id",
    ),
]


def _kept(field: str, why: str) -> Rule:
    return Rule(
        rule=f"has(self.{field}) == has(oldSelf.{field}) "
        f"&& (!has(self.{field}) || self.{field} == oldSelf.{field})",
        message=f"{field} is immutable, and can't be added or removed later: {why}; {_ELSE}",
        field_path=f".{field}",
    )


class RequestSpec(Model):
    """One request of the API."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = Field(description="The method.")
    path: str = Field(
        min_length=1,
        max_length=1024,
        pattern=r"^/[!-~]*$",
        pattern_message="must be a path such as /records/${identity}, in ASCII",
        description="What comes after spec.url, a query included. ${identity}, ${name}, ${namespace} and "
        "${uid} stand for the thing's identity and the object's name, namespace and uid.",
        examples=["/records/${identity}"],
    )
    statuses: dict[str, StatusMeaning] = Field(
        default_factory=dict,
        max_properties=_MAX_ENTRIES,
        rules=[
            Rule(
                rule="self.all(status, status.matches('^[2-5][0-9][0-9]$'))",
                message="keys must be HTTP statuses such as '404'",
            )
        ],
        description="What a status means where it is not what it mostly does: 404 and 410 NotFound, 409 "
        "AlreadyExists for create and else Conflict, 401 and 403 Unauthorised, 429 Throttled, 5xx Transient, "
        "other 4xx Invalid.",
        examples=[{"400": "NotFound"}],
    )


class HTTPResourceRequests(Model):
    """The requests of a thing's life."""

    get: RequestSpec = Field(description="Asks for the thing.")
    create: RequestSpec = Field(description="Makes the thing; its body is spec.body.")
    update: RequestSpec | None = Field(
        None,
        description="Changes the thing; its body is spec.body, whole. Without it things are not changed.",
    )
    delete: RequestSpec | None = Field(
        None, description="Removes the thing. Without it the deletion policy must be Orphan."
    )
    find: RequestSpec | None = Field(
        None,
        description="Lists things that may be this object's, where the API chooses identities. With it, a "
        "create whose answer was lost is resolved by itself. Needs spec.owner.",
    )
    health: RequestSpec | None = Field(None, description="Shows that the API answers.")


class HTTPResourceSpec(
    Model,
    rules=(
        Rule(
            rule="has(self.identity) != has(self.identityFrom)",
            message="give identity, where you choose it, or identityFrom, where the API does",
        ),
        Rule(
            rule="has(self.identity) || !self.requests.create.path.contains('${identity}')",
            message="requests.create.path can't have ${identity}: the API chooses it while it answers",
            field_path=".requests.create.path",
        ),
        Rule(
            rule="has(self.requests.delete) || self.deletionPolicy == 'Orphan' || "
            "self.managementPolicy == 'Observe'",
            message="without requests.delete the deletionPolicy must be Orphan",
            field_path=".deletionPolicy",
        ),
        Rule(
            rule="!has(self.requests.find) || (has(self.owner) && has(self.identityFrom))",
            message="requests.find needs owner and identityFrom: whose things are, and which they are",
            field_path=".requests.find",
        ),
        _kept("identity", "it says which thing this object is for"),
        _kept("identityFrom", "it says which thing this object is for"),
    ),
):
    """What shall exist, and how the API is spoken to."""

    url: str = Field(
        max_length=1024,
        pattern=r"^https?://[^\s/?#@]+[^\s?#@]*$",
        pattern_message="must be the URL of an API such as https://dns.example.com/v1",
        rules=[
            Rule(
                rule="self == oldSelf",
                message=f"url is immutable: the thing would be somewhere else; {_ELSE}",
            )
        ],
        description="The API's URL. Whoever runs the operator lists the hosts that it may speak to. "
        "Immutable.",
        examples=["https://dns.example.com/v1"],
    )
    credentials_secret_ref: SecretRef | None = Field(
        None,
        description="A Secret with token (sent as a bearer's), or username and password, or header and "
        "value.",
    )
    identity: str | None = Field(
        None,
        min_length=1,
        max_length=512,
        description="The thing's identity, where it is ours to choose. Immutable.",
        examples=["www.example.com"],
    )
    identity_from: _Pointer | None = Field(
        None,
        description="Where in the answer to create the thing's identity is, where the API chooses it. "
        "Immutable.",
        examples=["/data/id"],
    )
    body: dict[str, Any] = Field(
        preserve_unknown=True,
        max_properties=256,
        description="What is wanted. Each of its fields is to be so in what the API tells; others do not "
        "count. In texts ${name}, ${namespace} and ${uid} stand for the object's.",
    )
    requests: HTTPResourceRequests = Field(description="The requests of the thing's life.")
    state: _Pointer = Field(
        "", description="Where in an answer the thing is; by default the answer is the thing."
    )
    items: _Pointer = Field("", description="Where in the answer to find the things are.")
    owner: _Pointer | None = Field(
        None,
        description="Where in the thing the uid of this object may be written, so that nobody else's is "
        "taken for it.",
        examples=["/labels/owner"],
    )
    write_only: list[_Pointer] = Field(
        default_factory=list,
        max_items=_MAX_ENTRIES,
        description="Fields of the body that the API never tells, such as /password: they are not compared.",
    )
    expose: dict[str, _Pointer] = Field(
        default_factory=dict,
        max_properties=_MAX_ENTRIES,
        description="What of the thing is shown in status.exposed, by name. Nothing secret: a status is no "
        "Secret.",
        examples=[{"address": "/address"}],
    )
    interval_seconds: int = Field(
        60, ge=10, le=86400, description="How often it is looked at when nothing has changed."
    )
    adoption_policy: Literal["Never", "Unowned", "Any"] = Field(
        "Never",
        description="Whether a thing that exists already becomes this object's: never, if it has no owner, "
        "or whoever's it is.",
    )
    deletion_policy: Literal["Delete", "Orphan"] = Field(
        "Delete", description="What becomes of the thing when the object is deleted."
    )
    management_policy: Literal["Full", "Observe"] = Field(
        "Full", description="Observe only looks: it makes, changes and deletes nothing."
    )


class HTTPResourceStatus(Model):
    """What was observed; written by the operator."""

    conditions: Conditions = Field(
        default_factory=Conditions,
        description="Available: the thing exists. Synced: it is as wanted.",
    )
    observed_generation: int | None = Field(
        None, ge=0, format="int64", description="The metadata.generation that this status speaks of."
    )
    external_id: str | None = Field(None, name="externalID", description="The thing's identity.")
    exposed: dict[str, str] = Field(default_factory=dict, description="What spec.expose asks for.")
    drift: str | None = Field(None, description="What is not as wanted; absent where nothing is.")
    sent: str | None = Field(
        None,
        description="A digest of the update that was sent last, so that it is not sent again for nothing.",
    )
    reconcile_requested: str | None = Field(
        None, description="The value of the annotation openclaw.dev/reconcile-now that was acted on last."
    )


class HTTPResource(
    CustomResource,
    group="external.openclaw.dev",
    version="v1alpha1",
    plural="httpresources",
    categories=("external",),
    columns=(
        Column("Available", '.status.conditions[?(@.type=="Available")].status'),
        Column("Synced", '.status.conditions[?(@.type=="Synced")].status'),
        Column("ID", ".status.externalID", description="The thing's identity."),
        Column("URL", ".spec.url", priority=1),
        Column("Message", '.status.conditions[?(@.type=="Synced")].message', priority=1),
        Age,
    ),
):
    """One thing behind a JSON API, made, watched, changed and deleted by declared requests."""

    spec: HTTPResourceSpec
    status: HTTPResourceStatus = HTTPResourceStatus()
