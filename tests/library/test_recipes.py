"""Recipes of packaging/: they parse, and what they ask CMake for is what CMakeLists.txt knows.

spack/package.py is run with stand-ins for the words of Spack, with every variant on and off; conda/meta.yaml is
rendered by Jinja and read as YAML.  Exit 77 where Python has no yaml or jinja2.
"""
import pathlib
import re
import sys
import types

try:
    import jinja2
    import yaml
except ImportError as missing:
    print(f"skipped: no {missing.name}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CMAKE = (ROOT / "CMakeLists.txt").read_text() + (ROOT / "cmake" / "without.cmake").read_text()
OPTIONS = set(re.findall(r"^(?:option|set)\((STAIR_\w+)", CMAKE, re.M)) | {"BUILD_TESTING"}
LIBRARIES = set(re.search(r"libraries to do without: ([\w, ]+)", CMAKE).group(1).split(", "))
VERSION = re.search(r'STAIR_VERSION "([\d.]+)"', (ROOT / "include" / "stair.h").read_text()).group(1)


def check(options):
    """options: {name: value} as CMake gets them."""
    for name, value in options.items():
        assert name.startswith("CMAKE_") or name in OPTIONS, f"CMake has no {name}"
        if name == "STAIR_WITHOUT":
            assert set(value.split(";")) <= LIBRARIES, value
        if name == "STAIR_MPI":
            assert value in ("ON", "OFF"), value


def spack():
    said = []
    package = types.ModuleType("spack.package")
    for word in "license", "version", "variant", "depends_on", "generator":
        setattr(package, word, lambda *words, _word=word, **more: said.append((_word, words, more)))

    class CMakePackage:
        @staticmethod
        def define(name, value):
            return name, "ON" if value is True else "OFF" if value is False else value

    package.CMakePackage = CMakePackage
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": package})
    space = {}
    source = (ROOT / "packaging" / "spack" / "package.py").read_text()
    exec(compile(source, "package.py", "exec"), space)  # the text of this repository
    variants = [words[0] for word, words, _ in said if word == "variant"]
    for word, words, more in said:
        assert word != "depends_on" or more.get("when", "+" + variants[0])[1:] in variants, (words, more)
    for on in range(2 ** len(variants)):
        names = {"+" + v for k, v in enumerate(variants) if on >> k & 1}
        recipe = space["Stair"]()
        recipe.spec = types.SimpleNamespace(satisfies=lambda name: name in names)
        check(dict(recipe.cmake_args()))
    print(f"ok: spack, {len(said)} directives, {2 ** len(variants)} choices of variants")


def conda():
    text = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
    recipe = yaml.safe_load(jinja2.Template(text).render(compiler=lambda language: language + "-compiler"))
    assert recipe["package"] == {"name": "stair", "version": VERSION}, recipe["package"]
    assert (ROOT / "packaging" / "conda" / recipe["source"]["path"] / "CMakeLists.txt").exists()
    assert (ROOT / recipe["about"]["license_file"]).exists()
    script = recipe["build"]["script"]
    assert len(script) == 3 and all(line.startswith("cmake ") for line in script)
    options = dict(re.findall(r"-D(\w+)=(\S+)", script[0]))
    check(options)
    assert set(recipe["requirements"]["host"]) >= LIBRARIES - {"zip"} - set(options["STAIR_WITHOUT"].split(";"))
    print(f"ok: conda, {len(options)} options, {len(recipe['requirements']['host'])} libraries")


spack()
conda()
