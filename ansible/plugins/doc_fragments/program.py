# Copyright: Slipway authors
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import absolute_import, division, print_function

__metaclass__ = type


class ModuleDocFragment(object):
    """The options of everything that calls the program."""

    DOCUMENTATION = r"""
options:
  executable:
    description: The program.
    type: path
    default: slipway
  chdir:
    description: Folder to run it in; paths of I(files) are relative to it.
    type: path
  files:
    description: Environment files; later files override earlier ones. Without any it is C(slipway.yaml).
    type: list
    elements: path
    default: []
  env:
    description: Name of an environment whose file is below C(environments/).
    type: str
  os_cloud:
    description: Entry of C(clouds.yaml), if the environment file names none.
    type: str
  clouds_file:
    description: Path of C(clouds.yaml).
    type: path
"""
