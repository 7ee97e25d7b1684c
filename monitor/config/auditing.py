"""Where audits are kept, and who may see them."""

from __future__ import annotations

from pydantic import Field, SecretStr, field_validator

from monitor.config.base import Section, Texts, seconds


class Audit(Section):
    """Audits: people check verdicts, and the numbers learn from it."""

    database: SecretStr | None = Field(
        None,
        description="sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME; without it there are "
        "no audits",
    )
    password_file: str | None = Field(
        None,
        description="file with a line for each password: PASSWORD, NAME:label:PASSWORD or "
        "NAME:read:PASSWORD; read again at each login",
    )
    person_attribute: str | None = Field(
        None, description="attribute that names a person, for audit forget --person"
    )
    host: str = Field("127.0.0.1", description="address that the pages are bound to")
    port: int = Field(9751, ge=0, le=65_535, description="their port; 0 takes a free one")
    keep: str = Field(
        "90d", description="for how long interactions are kept; those with labels stay"
    )
    allowed_hosts: Texts = Field(
        (),
        description="further names under which the pages may be asked for, as http.allowed_hosts",
    )

    @field_validator("keep")
    @classmethod
    def _is_an_age(cls, value: str) -> str:
        seconds(value)
        return value
