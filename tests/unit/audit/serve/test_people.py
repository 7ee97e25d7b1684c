"""Who gets in: passwords that change without a restart, cookies that nobody else can make."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.audit.serve.people import (
    SESSION_S,
    Attempts,
    NameTaken,
    Passwords,
    Person,
    Sessions,
)
from monitor.errors import ConfigurationError

LINES = "# comment\nopen-sesame\nann:label:annes-secret\nbob:read:bobs-secret:with-colon\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "passwords"
    found.write_text(LINES, "utf-8")
    return found


@pytest.mark.parametrize(
    ("password", "name", "person"),
    [
        ("open-sesame", "", Person("reviewer", "label")),
        ("open-sesame", " <b>Eve</b> ", Person("beveb", "label")),
        ("open-sesame", "EVE   Ｌee ", Person("eve lee", "label")),
        ("annes-secret", "somebody", Person("ann", "label")),
        ("bobs-secret:with-colon", "", Person("bob", "read")),
        ("bobs-secret", "bob", None),
        ("ann:label:annes-secret", "ann", None),
        ("", "ann", None),
        ("# comment", "", None),
    ],
)
def test_a_password_says_who_it_is(
    file: Path, password: str, name: str, person: Person | None
) -> None:
    """With a name of its own, whatever was typed."""
    assert Passwords(file).person(password, name) == person


@pytest.mark.parametrize("name", ["ann", " Ann ", "bob", "<ann>"])
def test_nobody_takes_the_name_of_another(file: Path, name: str) -> None:
    """With the password that all of them know."""
    with pytest.raises(NameTaken):
        Passwords(file).person("open-sesame", name)
    assert Passwords(file).person("wrong-sesame", name) is None


def test_a_name_that_is_not_typed_is_nobody_elses(tmp_path: Path) -> None:
    """Whoever types none is called so, unless somebody is; a line may have the same password."""
    found = tmp_path / "passwords"
    found.write_text("open-sesame\nreviewer:label:another-one\ncid:read:open-sesame\n", "utf-8")
    assert Passwords(found).person("open-sesame", "") == Person("cid", "read")
    found.write_text("open-sesame\nreviewer:label:another-one\n", "utf-8")
    with pytest.raises(NameTaken):
        Passwords(found).person("open-sesame", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "holds no password"), ("short\n", "fewer than 8"), ("ann:label:short", "fewer than 8")],
)
def test_a_file_that_lets_anybody_in_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """Before anything is served."""
    found = tmp_path / "passwords"
    found.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=said):
        Passwords(found)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the setting."""
    with pytest.raises(ConfigurationError, match=r"audit.password_file: .*nothing"):
        Passwords(tmp_path / "nothing")


def test_a_changed_password_ends_its_sessions(file: Path) -> None:
    """And the new one holds at once."""
    passwords = Passwords(file)
    sessions = Sessions(lambda: passwords.version)
    ann = Person("ann", "label")
    cookie = sessions.begin(ann)
    assert sessions.person(cookie) == ann
    file.write_text(LINES.replace("annes-secret", "another-secret"), "utf-8")
    assert sessions.person(cookie) is None
    assert passwords.person("another-secret", "") == ann
    assert passwords.person("annes-secret", "") is None


def test_a_cookie_of_another_process_is_none(file: Path) -> None:
    """Nor one that was changed, or cut."""
    passwords = Passwords(file)
    ours, other = (Sessions(lambda: passwords.version) for _ in range(2))
    cookie = ours.begin(Person("ann", "read"))
    for forged in (other.begin(Person("ann", "read")), cookie[:-1], f"x{cookie}", "", "é"):
        assert ours.person(forged) is None
    assert ours.is_form_token(ours.form_token(cookie), cookie)
    assert not ours.is_form_token(ours.form_token("another"), cookie)
    assert not ours.is_form_token(other.form_token(cookie), cookie)


def test_who_has_logged_out_is_nobody(file: Path) -> None:
    """With a copy of the cookie, too; other sessions go on, and none is remembered for ever."""
    passwords, now = Passwords(file), [0.0]
    sessions = Sessions(lambda: passwords.version, lambda: now[0])
    here, there = (sessions.begin(Person("ann", "label")) for _ in range(2))
    sessions.end(here)
    sessions.end("forged")
    assert (sessions.person(here), sessions.person(there)) == (None, Person("ann", "label"))
    now[0] = SESSION_S + 1.0
    sessions.end(there)
    assert sessions.ended == 1
    assert sessions.person(there) is None


def test_each_wrong_attempt_takes_twice_as_long() -> None:
    """Of one address; a right one begins anew."""
    attempts = Attempts()
    found = [attempts.begin("a") for _ in range(9)]
    assert found == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert attempts.begin("b") == 0.0
    attempts.was_right("a")
    assert attempts.begin("a") == 0.0
    for number in range(3_000):
        attempts.begin(str(number))
    assert attempts.begin("0") == 0.0
