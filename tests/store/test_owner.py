import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from lcbo.store import owner
from lcbo.store.owner import Owner

linux = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")


def test_this_process_is_alive_and_two_openings_differ():
    me, again = Owner.this_process(), Owner.this_process()
    assert me.alive() is True
    assert me.same_process(again)
    assert me != again
    assert str(os.getpid()) in str(me)


def test_process_that_has_gone_is_dead():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert replace(Owner.this_process(), pid=gone.pid).alive() is False


@linux
def test_process_that_nobody_has_waited_for_is_dead():
    zombie = subprocess.Popen(["sleep", "0.1"])
    born = owner._birth(zombie.pid)
    assert replace(Owner.this_process(), pid=zombie.pid, birth=born).alive() is True
    while owner._birth(zombie.pid) != "ended":
        time.sleep(0.01)
    assert replace(Owner.this_process(), pid=zombie.pid, birth=born).alive() is False
    zombie.wait()


@linux
def test_another_process_with_the_same_number_is_not_the_owner():
    assert replace(Owner.this_process(), birth="1").alive() is False


@linux
def test_owner_from_before_a_reboot_is_dead():
    assert replace(Owner.this_process(), boot="another").alive() is False


def test_owner_on_another_machine_is_unknown():
    assert replace(Owner.this_process(), host="elsewhere").alive() is None


@pytest.mark.parametrize("birth", ["", "123"])
def test_process_of_another_user_that_cannot_be_looked_at_counts_as_alive(monkeypatch, birth):
    def refuse(_pid, _signal):
        raise PermissionError

    other = replace(Owner.this_process(), pid=1, birth=birth)
    monkeypatch.setattr(os, "kill", refuse)
    monkeypatch.setattr(owner, "_birth", lambda _pid: "")
    assert other.alive() is True


@linux
def test_process_whose_name_has_spaces_and_brackets(tmp_path):
    program = tmp_path / "a) b (c"
    shutil.copy(shutil.which("sleep"), program)
    process = subprocess.Popen([program, "30"])
    try:
        started = int(owner._birth(process.pid))
        assert int(owner._birth(os.getpid())) <= started
    finally:
        process.kill()
        process.wait()
