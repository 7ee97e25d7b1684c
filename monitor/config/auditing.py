"""Where audits are kept, and who may see them."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator

from monitor.config.base import Age, Section, Texts


class Audit(Section):
    """Audits: people check verdicts, and the numbers learn from it."""

    database: SecretStr | None = Field(
        None,
        description="sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME. Without it there "
        "are no audits",
    )
    password_file: str | None = Field(
        None,
        description="file with a line for each password: PASSWORD, NAME:label:PASSWORD or "
        "NAME:read:PASSWORD. It is read again at each login",
    )
    person_attribute: str | None = Field(
        None, description="attribute that names a person, for audit forget --person"
    )
    proxy_header: str | None = Field(
        None,
        description="header with the name of who has logged in at a proxy. It needs proxy_address",
    )
    proxy_address: str | None = Field(
        None, description="address of that proxy. From elsewhere the header counts for nothing"
    )
    host: str = Field("127.0.0.1", description="address that the pages are bound to")
    port: int = Field(9751, ge=0, le=65_535, description="their port. 0 takes a free one")
    keep: Age = Field(
        "90d", description="for how long interactions are kept. Those with labels stay"
    )
    keep_bytes: int = Field(
        3_000_000_000,
        ge=1_000_000,
        description="bytes of score records that are kept at most. The oldest without a label go "
        "first",
    )
    allowed_hosts: Texts = Field(
        (),
        description="further names under which the pages may be asked for, as http.allowed_hosts",
    )

    @field_validator("proxy_address")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                ip_address(value)
            except ValueError:
                raise ValueError(f"found {value!r}, expected an IP address") from None
        return value

    @model_validator(mode="after")
    def _names_both(self) -> Self:
        if (self.proxy_header is None) != (self.proxy_address is None):
            raise ValueError(
                "proxy_header and proxy_address need each other: a name that anybody may send is "
                "no login"
            )
        return self
