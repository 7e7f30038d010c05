"""Archives and mails: what lies in them is listed, taken out within limits, and named so that it can be an address."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from hybrid_core.errors import DocumentError, LimitError, PasswordError
from indexers.formats.archives import tar_members
from indexers.formats.format import clean_name, is_hidden
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of
from indexers.formats.unpack import Unpacked, unpack_members
from tests.indexers.formats.packages import packed, read, text_of


def unpacked(path: Path, limits: ParseLimits = ParseLimits()) -> Unpacked:
    folder = path.parent / f"out-{path.name}"
    folder.mkdir()
    return unpack_members(format_of(path), path, folder, limits)


def names(path: Path) -> list[str]:
    return [member.name for member in unpacked(path).members]


def tarred(path: Path, files: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def mail(*attached: tuple[str, str, bytes], **headers: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in ({"From": "a@example.org", "Subject": "Kelp", "Date": "Mon, 2 Mar 2026 10:00:00 +0000"}).items():
        message[name] = headers.get(name, value)
    message.set_content("See the file.")
    for name, kind, content in attached:
        main, sub = kind.split("/")
        message.add_attachment(content, maintype=main, subtype=sub, filename=name)
    return message


def test_an_archive_lists_and_gives_its_members(tmp_path: Path) -> None:
    made = packed(tmp_path / "a.zip", {"b/one.md": "kelp", "two.txt": "gull", "three.exe": "MZ"})
    assert "b/one.md (4 bytes)" in text_of(made) and "three.exe" in text_of(made)
    found = unpacked(made)
    assert [(m.name, m.file.read_bytes()) for m in found.members] == [("b/one.md", b"kelp"), ("two.txt", b"gull")]
    assert found.skipped == {".exe": 1}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar_archives_are_read_however_packed(tmp_path: Path, mode: str) -> None:
    made = tarred(tmp_path / "a.tar", {"b/one.md": b"kelp", "two.txt": b"gull"}, mode)
    assert format_of(made).name == "tarball"
    assert names(made) == ["b/one.md", "two.txt"]
    assert "b/one.md (4 bytes)" in text_of(made)


def test_a_packed_file_is_an_archive_of_one(tmp_path: Path) -> None:
    (tmp_path / "report.md.gz").write_bytes(gzip.compress(b"# Kelp\n"))
    (tmp_path / "notes.txt.bz2").write_bytes(bz2.compress(b"gull"))
    assert names(tmp_path / "report.md.gz") == ["report.md"]
    assert names(tmp_path / "notes.txt.bz2") == ["notes.txt"]


def test_names_become_parts_of_an_address(tmp_path: Path) -> None:
    made = tmp_path / "a.zip"
    with zipfile.ZipFile(made, "w") as archive:
        for name in ("../../up.md", "/root/x.md", "C:\\win\\y.md", "wow!/z.md", "a\u202egnp.md", "same.md"):
            archive.writestr(name, name)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("same.md", "other")
        archive.writestr("__MACOSX/._up.md", "x")
        archive.writestr(".git/config.md", "x")
    assert names(made) == [
        "up.md", "root/x.md", "C:/win/y.md", "wow_/z.md", "a_gnp.md", "same.md", "same (2).md",
    ]  # fmt: skip
    assert clean_name("x" * 400 + ".pdf").endswith(".pdf") and len(clean_name("x" * 400 + ".pdf")) <= 120
    assert is_hidden("a/.b/c.md") and not is_hidden("a/b.md")


def test_names_of_other_encodings(tmp_path: Path) -> None:
    made = tmp_path / "a.zip"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("placeholder-that-is-long.md", "x")
    data = made.read_bytes()
    for encoding, name in (("utf-8", "prüfung.md"), ("gb18030", "合同文本合.md"), ("cp932", "テストの文.md")):
        raw = name.removesuffix(".md").encode(encoding)
        (tmp_path / encoding).mkdir()
        other = tmp_path / encoding / "b.zip"
        other.write_bytes(data.replace(b"placeholder-that-is-long.md", raw + b"x" * (27 - len(raw) - 3) + b".md"))
        assert names(other)[0].startswith(name.removesuffix(".md")), encoding


def test_limits_hold_for_all_that_lies_in_a_file(tmp_path: Path) -> None:
    many = packed(tmp_path / "many.zip", {f"{n}.md": "kelp" for n in range(9)})
    with pytest.raises(LimitError, match="max_entries"):
        unpacked(many, ParseLimits(max_entries=8))
    with pytest.raises(LimitError, match="max_expanded_bytes"):
        read(many, ParseLimits(max_expanded_bytes=35))
    bomb = tmp_path / "bomb.md.gz"
    bomb.write_bytes(gzip.compress(b"\0" * 3_000_000))
    with pytest.raises(LimitError, match="max_expanded_bytes"):
        unpacked(bomb, ParseLimits(max_expanded_bytes=1_000_000))
    big = mail(("a.md", "text/markdown", b"kelp" * 100), ("b.md", "text/markdown", b"gull" * 100))
    (tmp_path / "a.eml").write_bytes(bytes(big))
    with pytest.raises(LimitError, match="files in the archive have"):
        unpacked(tmp_path / "a.eml", ParseLimits(max_expanded_bytes=500))


def test_what_cannot_be_had_costs_only_itself(tmp_path: Path) -> None:
    made = packed(tmp_path / "a.zip", {"one.md": "kelp " * 50, "two.md": "gull " * 50})
    data = bytearray(made.read_bytes())
    data[38:44] = b"\xff" * 6  # of the packed bytes of the first, behind its head of 30 and its name
    made.write_bytes(data)
    found = unpacked(made)
    assert [m.name for m in found.members] == ["two.md"]
    assert [name for name, _ in found.damaged] == ["one.md"] and "damaged" in found.damaged[0][1]


def test_encrypted_archives_say_so(tmp_path: Path) -> None:
    made = packed(tmp_path / "a.zip", {"one.md": "kelp"})
    data = bytearray(made.read_bytes())
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    made.write_bytes(data)
    with pytest.raises(PasswordError, match=r"encrypted\. Unpack the archive"):
        read(made)
    with pytest.raises(PasswordError):
        unpacked(made)


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    made = tarred(tmp_path / "a.tar.gz", {f"{n}.md": b"kelp %d" % n * 3000 for n in range(50)}, "w:gz")
    made.write_bytes(made.read_bytes()[:400])
    with pytest.raises(DocumentError, match="damaged"):
        unpacked(made)
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(DocumentError, match="damaged"):
        read(tmp_path / "b.zip")


def test_attachments_but_no_pictures_that_the_text_shows(tmp_path: Path) -> None:
    message = mail(("report.pdf", "application/pdf", b"%PDF-1.4"), ("photo.png", "image/png", b"\x89PNG"))
    message.add_attachment(b"\x89PNG logo", maintype="image", subtype="png", filename="logo.png", cid="<logo>",
                           disposition="inline")  # fmt: skip
    message.add_attachment(mail(("inner.md", "text/markdown", b"kelp")))
    (tmp_path / "a.eml").write_bytes(bytes(message))
    assert names(tmp_path / "a.eml") == ["report.pdf", "photo.png", "inner.md"]


def test_attachments_of_a_mailbox_lie_behind_their_message(tmp_path: Path) -> None:
    box = b"".join(
        b"From a@example.org Mon Mar  2 10:00:00 2026\n" + bytes(mail(("a.md", "text/markdown", text))) + b"\n\n"
        for text in (b"kelp", b"gull")
    )
    (tmp_path / "a.mbox").write_bytes(box)
    assert names(tmp_path / "a.mbox") == ["message 1/a.md", "message 2/a.md"]


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("cp932", "報告書.txt"), ("cp1251", "Договор.txt"), ("latin-1", "Größe.txt"), ("utf-8", "ö.txt")],
)
def test_names_of_tar_archives_in_other_encodings(tmp_path: Path, encoding: str, name: str) -> None:
    with tarfile.open(tmp_path / "a.tar", "w", encoding=encoding, format=tarfile.GNU_FORMAT) as archive:
        entry = tarfile.TarInfo(name)
        entry.size = 4
        archive.addfile(entry, io.BytesIO(b"kelp"))
    assert [member.name for member in tar_members(tmp_path / "a.tar", ParseLimits())] == [name]


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("cp437", "Größe.txt"), ("cp437", "10 µm.txt"), ("cp850", "søster.txt"), ("cp1252", "Größe–x.txt"),
        ("cp1252", "café.txt"), ("cp1252", "Übersicht.txt"), ("cp1252", "España.txt"), ("cp866", "договор.txt"),
        ("cp932", "契約書.txt"), ("gbk", "合同文件.txt"),
    ],
)  # fmt: skip
def test_names_in_an_archive_are_read_in_their_encoding(tmp_path: Path, encoding: str, name: str) -> None:
    coded = name.encode(encoding)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("A" * len(coded), "kelp")
    data = (tmp_path / "a.zip").read_bytes().replace(b"A" * len(coded), coded)
    (tmp_path / "a.zip").write_bytes(data)
    assert name in text_of(tmp_path / "a.zip")
