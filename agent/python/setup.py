# The wheel holds programs of one platform and no extension of Python: py3-none-PLATFORM.
import os

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


class PlatformWheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", os.environ.get("SASSAY_WHEEL_PLATFORM", "linux_x86_64")


setup(cmdclass={"bdist_wheel": PlatformWheel})
