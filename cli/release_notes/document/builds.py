"""Installation of Maven, Gradle and .NET projects. Runs nothing and resolves no XML entity."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from xml.etree.ElementTree import Element, ParseError, fromstring

from cli.release_notes.document.manifest import Manifest, need_of, version_in
from cli.release_notes.facts import ProjectFile

_NOT_DEPENDED_ON = ("pom", "war", "ear", "maven-plugin", "maven-archetype")
_PUBLISHES = re.compile(r"maven-publish|maven\.publish|com\.gradle\.plugin-publish")


def read_maven(file: ProjectFile) -> Manifest | None:
    project = _xml(file.text)
    if project is None or project.tag != "project":
        return None
    group, artifact = (project.findtext(name) or project.findtext(f"parent/{name}") or "" for name in _COORDINATES)
    version = project.findtext("version") or project.findtext("parent/version")
    java = next(filter(None, (project.findtext(f"properties/{name}") for name in _JAVA)), "")
    skipped = (project.findtext("properties/maven.deploy.skip") or "").strip().lower() == "true"
    packaging = (project.findtext("packaging") or "jar").strip()
    name = f"{group.strip()}:{artifact.strip()}"
    is_known = re.fullmatch(r"[\w.-]+:[\w.-]+", name) is not None and project.findtext("artifactId") is not None
    return Manifest(
        file.path, "maven", name if is_known else "", version_in((version or "").strip()),
        need_of("Java", f">={java.strip()}" if java and re.fullmatch(r"[\d.]+", java.strip()) else None),
        is_published=is_known and not skipped and packaging not in _NOT_DEPENDED_ON,
    )  # fmt: skip


_COORDINATES = ("groupId", "artifactId")
_JAVA = ("maven.compiler.release", "java.version", "maven.compiler.target")


def read_gradle(file: ProjectFile) -> Manifest | None:
    """Read a `build.gradle`, in Groovy or Kotlin: it is a program, of which only plain statements are understood."""
    if not re.search(r"\bplugins\b|\bapply\b|\bdependencies\b|\ballprojects\b", file.text):
        return None
    text = "\n".join(_uncommented(file.text))
    # Within a block, a version may be that of a tool.
    group, artifact, version = (_said(text, name) for name in (r"\s*group", r"\s*artifactId", "version"))
    is_known = bool(group and artifact and _PUBLISHES.search(text))
    java = re.search(r"(?:JavaLanguageVersion\.of\(|VERSION_)(\d{1,2})\b", text)
    return Manifest(
        file.path, "gradle", f"{group}:{artifact}" if is_known else "", version_in(version),
        need_of("Java", java and f">={java[1]}"), is_published=is_known,
    )  # fmt: skip


def _uncommented(text: str) -> Iterator[str]:
    in_comment = False
    for line in text.splitlines():
        if in_comment or line.lstrip().startswith("/*"):
            in_comment = "*/" not in line
        elif not line.lstrip().startswith("//"):
            yield line


def _said(text: str, name: str) -> str | None:
    found = re.search(rf"^{name}\s*(?:=|\s|\.set\()\s*['\"]([\w.+-]+)['\"]", text, re.M)
    return found[1] if found else None


def read_nuget(file: ProjectFile) -> Manifest | None:
    """Read a `.csproj` of the .NET SDK; it is for an index where it says how it is called there, or which version."""
    project = _xml(file.text)
    if project is None or project.tag != "Project" or not (project.get("Sdk") or project.find("Sdk") is not None):
        return None
    stated = {each.tag: (each.text or "").strip() for each in project.iterfind("PropertyGroup/*")}

    def is_set(name: str) -> bool:
        return stated.get(name, "").lower() == "true"

    if is_set("IsTestProject"):
        return None
    version = next((stated[name] for name in ("PackageVersion", "Version", "VersionPrefix") if stated.get(name)), None)
    is_meant = version is not None or "PackageId" in stated or is_set("PackAsTool") or is_set("GeneratePackageOnBuild")
    name = stated.get("PackageId") or stated.get("AssemblyName") or PurePosixPath(file.path).stem
    return Manifest(
        file.path, "nuget", name if "$" not in name else PurePosixPath(file.path).stem, version_in(version),
        is_published=is_meant and stated.get("IsPackable", "").lower() != "false",
        is_program=is_set("PackAsTool"),
    )  # fmt: skip


def _xml(text: str) -> Element | None:
    if re.search(r"<!(?:DOCTYPE|ENTITY)", text, re.I):
        return None
    try:
        # Without declarations there is no entity that could grow or name a file.
        root = fromstring(text.encode())  # noqa: S314
    except (ParseError, ValueError, LookupError):
        return None
    for each in root.iter():
        each.tag = each.tag.rpartition("}")[2]
    return root
