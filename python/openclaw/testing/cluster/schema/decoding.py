"""What decoding a request's body has in common for all kinds."""

from __future__ import annotations

from openclaw.testing.cluster.contracts import Decoded, FieldValidation, Object
from openclaw.testing.cluster.statuses import StatusError, bad_request


def cannot_be_handled(version: str, kind: str, wanted: str, why: str) -> StatusError:
    """400: the body is an object, but not one that can be used."""
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {wanted}: {why}')


def reported(
    obj: Object,
    unknown: list[str],
    duplicates: list[str],
    validation: FieldValidation,
    *,
    version: str,
    kind: str,
) -> Decoded:
    """The decoded object, with a word about fields that were dropped.

    Raises StatusError: 400 under strict validation.
    """
    obj, told = _without_double_owners(obj)
    if validation is FieldValidation.IGNORE or not (unknown or duplicates):
        return Decoded(obj, told)
    texts = [f'duplicate field "{path}"' for path in duplicates]
    texts += [f'unknown field "{path}"' for path in unknown]
    if validation is FieldValidation.STRICT:
        raise cannot_be_handled(version, kind, kind, f"strict decoding error: {', '.join(texts)}")
    return Decoded(obj, (*texts, *told))


def _without_double_owners(obj: Object) -> tuple[Object, tuple[str, ...]]:
    """Owner references that are there twice count once; the client is told."""
    metadata = obj.get("metadata") or {}
    references = metadata.get("ownerReferences")
    if not references or len(references) == 1:
        return obj, ()
    kept = [one for at, one in enumerate(references) if one not in references[:at]]
    if len(kept) == len(references):
        return obj, ()
    uids = dict.fromkeys(one.get("uid", "") for at, one in enumerate(references) if one in references[:at])
    text = (
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
        "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
        f"{', '.join(uids)}"
    )
    return {**obj, "metadata": {**metadata, "ownerReferences": kept}}, (text,)
