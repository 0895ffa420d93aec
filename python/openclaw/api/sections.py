"""Finds the classes of `spec` and `status` in a declaration and makes them tolerant fields."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

from pydantic import AfterValidator, BaseModel
from pydantic import Field as PydanticField

from openclaw.api.errors import SchemaError
from openclaw.api.model import Model


def section_class(owner: type[BaseModel], name: str) -> type[Model] | None:
    """The Model of section `name` as `owner` itself declares it: by an annotation or a nested class.

    Raises:
        SchemaError: it is something else than a Model.
    """
    annotation: Any = inspect.get_annotations(owner).get(name)
    if annotation is None:
        annotation = vars(owner).get(name.capitalize())
    if isinstance(annotation, str):
        annotation = _evaluated(owner, name, annotation)
    if annotation is None:
        return None
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    raise SchemaError(
        f"{owner.__qualname__}.{name} must be a Model: nest `class {name.capitalize()}(Model)` in the class"
    )


def install_section(owner: type[BaseModel], name: str, model: type[Model], *, required: bool) -> None:
    """Make the section a field of `owner`: absent or null means an empty one, unless it is required."""
    annotations = dict(inspect.get_annotations(owner))
    if required:
        annotations[name] = model
        setattr(owner, name, PydanticField())
    else:
        annotations[name] = Annotated[model | None, AfterValidator(_empty_for_none(model))]
        setattr(owner, name, PydanticField(default_factory=model))
    owner.__annotations__ = annotations


def has_required_fields(model: type[BaseModel]) -> bool:
    """Whether the model can't be empty."""
    return any(info.is_required() for info in model.model_fields.values())


def _empty_for_none(model: type[Model]) -> Callable[[Model | None], Model]:
    def fill(value: Model | None) -> Model:
        return model() if value is None else value

    return fill


def _evaluated(owner: type[BaseModel], name: str, annotation: str) -> Any:
    module = sys.modules.get(owner.__module__)
    try:
        return eval(annotation, dict(vars(module)) if module else {}, dict(vars(owner)))  # noqa: S307
    except NameError:
        raise SchemaError(
            f"{owner.__qualname__}.{name}: {annotation} is not known here; "
            f"nest `class {name.capitalize()}(Model)` in the class, or define it in the module before"
        ) from None
