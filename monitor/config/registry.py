"""Where the schemas of the logs are."""

from __future__ import annotations

from typing import Self

from pydantic import Field, SecretStr, ValidationInfo, model_validator

from monitor.config.base import Section, Url
from monitor.config.parts import may_miss


class RegistrySettings(Section):
    """The schema registry of the logs: whatever speaks Confluent's API."""

    url: Url | None = Field(
        None, description="address of its API. Apicurio's ends with /apis/ccompat/v7"
    )
    username: str | None = Field(None, description="for Basic authentication")
    password: SecretStr | None = Field(None, description="of this user")
    token: SecretStr | None = Field(None, description="in place of a user: a bearer token")
    ca_file: str | None = Field(
        None,
        description="file of the authorities that signed its certificate. Default: the system's",
    )

    @model_validator(mode="after")
    def _is_one_who(self, info: ValidationInfo) -> Self:
        if self.token is not None and self.username is not None:
            raise ValueError("username and token are set, expected one of them")
        is_half = (self.password is None) != (self.username is None)
        if is_half and not may_miss(info.context, "log"):
            raise ValueError("username and password belong together, and one of them is missing")
        return self
