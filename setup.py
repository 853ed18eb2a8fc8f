"""pip install . : builds libstair with CMake, then the module of cffi over it; both go into the wheel.

STAIR_BUILD=FOLDER takes libstair from a build that is there already."""
import os
import re
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext

ROOT = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(ROOT, "python"))
from build_stair import builder  # noqa: E402


def version():
    with open(os.path.join(ROOT, "include", "stair.h"), encoding="utf-8") as file:
        return re.search(r'#define STAIR_VERSION "(.*)"', file.read()).group(1)


class Build(build_ext):
    def library(self):
        """The folder that holds libstair.so.0."""
        given = os.environ.get("STAIR_BUILD")
        if given:
            return os.path.abspath(given)
        folder = os.path.abspath(os.path.join(self.build_temp, "libstair"))
        subprocess.check_call(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                               "-DSTAIR_WERROR=OFF", "-DBUILD_TESTING=OFF"])
        subprocess.check_call(["cmake", "--build", folder, "--target", "stair_shared"])
        return folder

    def build_extension(self, extension):
        folder = self.library()
        if not os.path.exists(os.path.join(folder, "libstair.so.0")):
            raise SystemExit(f"{folder} has no libstair.so.0")
        extension.include_dirs.append(os.path.join(ROOT, "include"))
        extension.library_dirs.append(folder)
        extension.extra_link_args.append("-Wl,-rpath,$ORIGIN")
        super().build_extension(extension)
        beside = os.path.dirname(self.get_ext_fullpath(extension.name))
        shutil.copy(os.path.join(folder, "libstair.so.0"), os.path.join(beside, "libstair.so.0"))


os.makedirs(os.path.join("build-python", "cffi"), exist_ok=True)
module = builder().distutils_extension(os.path.join("build-python", "cffi"))
module.py_limited_api = True  # one wheel for every Python from 3.9 on
module.define_macros.append(("Py_LIMITED_API", "0x03090000"))
setup(version=version(), ext_modules=[module], cmdclass={"build_ext": Build})
