from pathlib import Path

import pytest

from tests.cli.release_notes.comparing import compared, told

COMMANDS = [
    ("a.py", "p.add_argument('--old', '-o', default=3)\n", "p.add_argument('--new')\np.add_parser('run')\n"),
    ("b.py", "@click.option('--old/--no-old')\ndef f(): ...\n",
     "@click.option('--new')\n@cli.command('run')\ndef f(): ...\n"),
    ("c.py", "x: Annotated[int, typer.Option('--old')] = 1\n",
     "@app.command()\ndef run(new: Annotated[int, typer.Option(help='x')] = 1, plain: int = 2): ...\n"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new"), COMMANDS, ids=[row[0] for row in COMMANDS])
def test_flags_and_commands_are_found_where_they_are_declared(tmp_path: Path, path: str, old: str, new: str) -> None:
    _, found = compared(tmp_path, {path: old}, {path: new})
    flags = told(found, "flag")
    assert ("added", "--new", None) in flags
    assert ("removed", "--old") in [(change, name) for change, name, _ in flags]
    assert ("added", "run", None) in told(found, "command")


def test_a_default_that_differs_is_a_change_of_the_flag(tmp_path: Path) -> None:
    _, found = compared(
        tmp_path, {"a.py": "p.add_argument('--n', default=3)\n"}, {"a.py": "p.add_argument('--n', default=4)\n"}
    )
    assert told(found, "flag") == [("changed", "--n", "3")]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", "os.environ['OLD_ONE']\n", "os.getenv('NEW_ONE', 'x')\n"),
        ("src/a.ts", "process.env.OLD_ONE\n", "process.env['NEW_ONE']\n"),
        ("a.go", 'os.Getenv("OLD_ONE")\n', 'os.LookupEnv("NEW_ONE")\n'),
        ("src/a.rs", 'env::var("OLD_ONE")\n', 'std::env::var("NEW_ONE")\n'),
        (".env.example", "OLD_ONE=1\n", "# NEW_ONE=\n"),
        ("a.py", "class S(BaseSettings):\n    one: int = 1\n    model_config = SettingsConfigDict(env_prefix='OLD_')\n",
         "class S(BaseSettings):\n    one: int = 1\n    model_config = SettingsConfigDict(env_prefix='NEW_')\n"),
    ],
)  # fmt: skip
def test_settings_are_found_where_they_are_read(tmp_path: Path, path: str, old: str, new: str) -> None:
    _, found = compared(tmp_path, {path: old}, {path: new})
    assert [(change, name) for change, name, _ in told(found, "setting")] == [
        ("removed", "OLD_ONE"),
        ("added", "NEW_ONE"),
    ]


def test_what_the_system_sets_is_no_setting(tmp_path: Path) -> None:
    names = ("DISPLAY", "SSH_CONNECTION", "TERM", "HOME", "PATH", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "HOME_SERVER")
    new = "import os\n" + "".join(f'os.environ.get("{name}")\n' for name in names)
    _, found = compared(tmp_path, {"tool/a.py": "import os\n"}, {"tool/a.py": new})
    assert told(found, "setting") == [("added", "HOME_SERVER", None)]


def test_a_new_default_of_a_setting_is_told_with_the_old_one(tmp_path: Path) -> None:
    text = "class S(BaseSettings):\n    size: int = Field(default={}, ge=1)\n"
    _, found = compared(tmp_path, {"a.py": text.format(3)}, {"a.py": text.format(4)})
    assert told(found, "setting") == [("changed", "SIZE", "3")]


MANIFESTS = [
    ("pyproject.toml", '[project]\nrequires-python = ">=3.9"\ndependencies = ["A_b>=1", "gone"]\n'
     '[dependency-groups]\ndev = ["t"]\n',
     '[project]\nrequires-python = ">=3.10"\ndependencies = ["a-b[x]>=2; os_name", "new<3"]\n'
     '[dependency-groups]\ndev = ["t>1"]\n',
     [("a-b", ">=1", ">=2"), ("gone", "any", None), ("new", None, "<3"), ("python", ">=3.9", ">=3.10"), ("t", "any",
      ">1")]),
    ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.9"\na = "^1"\n',
     '[tool.poetry.dependencies]\npython = "^3.9"\na = {version = "^2"}\n',
     [("a", "^1", "^2")]),
    ("requirements.txt", "# x\na==1\n-r b.txt\n", "a==2 # y\n", [("a", "==1", "==2")]),
    ("setup.cfg", "[options]\ninstall_requires =\n  a>=1\n",
     "[options]\npython_requires = >=3.9\ninstall_requires =\n  a>=2\n",
     [("a", ">=1", ">=2"), ("python", None, ">=3.9")]),
    ("setup.py", "setup(install_requires=['a>=1'])\n", "setup(install_requires=['a>=2'], python_requires='>=3.9')\n",
     [("a", ">=1", ">=2"), ("python", None, ">=3.9")]),
    ("package.json", '{"engines": {"node": ">=16"}, "dependencies": {"a": "^1"}, "devDependencies": {"t": "1"}}',
     '{"engines": {"node": ">=18"}, "dependencies": {"a": "^2"}, "devDependencies": {}}',
     [("a", "^1", "^2"), ("node", ">=16", ">=18"), ("t", "1", None)]),
    ("Cargo.toml", '[dependencies]\na = "1"\n', '[package]\nrust-version = "1.80"\n[dependencies]\n'
     'a = {version = "2"}\n',
     [("a", "1", "2"), ("rust", None, "1.80")]),
    ("go.mod", "module x\ngo 1.21\nrequire (\n\tgithub.com/a/b v1.0.0\n\tgithub.com/c/d v1.0.0 // indirect\n)\n",
     "module x\ngo 1.22\nrequire (\n\tgithub.com/a/b v1.1.0\n\tgithub.com/c/d v1.9.0 // indirect\n)\n",
     [("github.com/a/b", "v1.0.0", "v1.1.0"), ("go", "1.21", "1.22")]),
    ("Gemfile", "gem 'a', '~> 1.0'\n", "gem 'a', '~> 2.0'\n", [("a", "~> 1.0", "~> 2.0")]),
    ("composer.json", '{"require": {"php": ">=8.1", "a/b": "^1"}}', '{"require": {"php": ">=8.2", "a/b": "^2"}}',
     [("a/b", "^1", "^2"), ("php", ">=8.1", ">=8.2")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"), MANIFESTS, ids=[f"{row[0]}-{len(row[3])}" for row in MANIFESTS]
)
def test_dependencies_are_read_from_manifests(
    tmp_path: Path, path: str, old: str, new: str, expected: list[tuple[str, str | None, str | None]]
) -> None:
    built, _ = compared(tmp_path, {path: old}, {path: new})
    found = built.facts().dependencies
    assert [(one.name, one.before, one.after) for one in found] == expected
    assert all(one.commits == (str(built.head),) for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "{",
        '{"dependencies": []}',
        "[project]\ndependencies = 3\n",
        "\0",
        '{"dependencies": {"a": 3}}',
        "[project]\n" * 2,
    ],
)
@pytest.mark.parametrize(
    "path", ["pyproject.toml", "package.json", "Cargo.toml", "setup.py", "setup.cfg", "composer.json", "go.mod"]
)
def test_a_damaged_manifest_states_nothing(tmp_path: Path, path: str, text: str) -> None:
    built, _ = compared(tmp_path, {path: text}, {path: text + " "})
    assert built.facts().dependencies == ()


@pytest.mark.parametrize(
    "path",
    ["app/migrations/0002_more.py", "alembic/versions/ab12_more.py", "stores/ledger/migrations/versions/0003_x.py",
     "db/migrate/20260101_x.rb",
     "prisma/migrations/2026_x/migration.sql", "sql/V2__more.sql"],
)  # fmt: skip
def test_migrations_are_known_by_their_place(tmp_path: Path, path: str) -> None:
    _, found = compared(
        tmp_path,
        {},
        {path: "x = 1\n", "app/migrations/__init__.py": "", "docs/migrations/x.md": "", "versions/a.py": ""},
    )
    assert told(found, "migration") == [("added", path, None)]
