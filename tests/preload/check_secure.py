"""A set-user-ID program that is linked to libtandem does not do what the environment of whoever
starts it says: usage: check_secure.py CLIENT_SECURE

Ends with 77, skipped, where this user cannot make such a program.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

CLIENT = sys.argv[1]
NOBODY = 65534


def why_not(folder):
    """Why no program in this folder gets its owner's rights; None if it does."""
    with open("/proc/self/status", encoding="ascii") as status:
        has_no_new_rights = "NoNewPrivs:\t1\n" in status.read()
    if os.geteuid() != 0:
        return "only root can make and start such a program"
    if has_no_new_rights or os.statvfs(folder).f_flag & os.ST_NOSUID:
        return "programs get no other rights here (no_new_privs or nosuid)"
    return None


class Secure(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        os.chmod(folder, 0o755)
        self.program = shutil.copy(CLIENT, os.path.join(folder, "program"))
        self.own = os.path.join(folder, "own")  # only root writes here
        os.mkdir(self.own, 0o755)

    def run_program(self, mode, **user):
        os.chmod(self.program, mode)
        variables = {"TANDEM_MODE": "df", "TANDEM_REPORT": os.path.join(self.own, "report.json"),
                     "TANDEM_LOG": "debug:" + os.path.join(self.own, "log")}
        return subprocess.run([self.program], env=variables, cwd="/", capture_output=True,
                              text=True, check=False, **user)

    def test_ordinary_program_does(self):
        done = self.run_program(0o755)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(sorted(os.listdir(self.own)), ["log", "report.json"])

    def test_program_with_more_rights_does_not(self):
        done = self.run_program(0o4755, user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(os.listdir(self.own), [])


if __name__ == "__main__":
    reason = why_not(tempfile.gettempdir())
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
