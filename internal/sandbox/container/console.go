package container

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// console is the terminal of a machine: systemd and cloud-init write to
// /dev/console only if it is one. A small process that outlives this one copies
// what comes out to the log.
type console struct {
	TTY string
	PID int
	// Started tells the process from a later one with its number.
	Started string
}

// openConsole makes a terminal whose output is added to the log. The returned
// file is the machine's side.
func openConsole(log string) (console, *os.File, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return console{}, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	defer master.Close()
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		return console{}, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	c := console{TTY: "/dev/pts/" + strconv.Itoa(number)}
	slave, err := os.OpenFile(c.TTY, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return console{}, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	if err := errors.Join(plain(slave), c.keep(master, slave, log)); err != nil {
		slave.Close()
		return console{}, nil, err
	}
	return c, slave, nil
}

// plain makes lines come out as they went in.
func plain(tty *os.File) error {
	t, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		return fmt.Errorf("setting up a terminal: %w", err)
	}
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, t)
}

// keep starts the process that copies. It also holds the machine's side open:
// without one the terminal would end whenever nothing in the machine has it
// open.
func (c *console) keep(master, slave *os.File, log string) error {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the console log: %w", err)
	}
	defer out.Close()
	cmd := exec.Command("cat")
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = master, out, []*os.File{slave}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the console log: %w", err)
	}
	c.PID, c.Started = cmd.Process.Pid, startTime(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }() // reaps it, should it end before this process
	return nil
}

// close ends the process that copies, if it is still that one.
func (c *console) close() {
	if c.PID > 0 && c.Started != "" && startTime(c.PID) == c.Started {
		_ = unix.Kill(c.PID, unix.SIGKILL)
	}
	*c = console{}
}

// startTime is field 22 of proc_pid_stat(5); empty when there is no process.
func startTime(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name, in parentheses, may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// maxConsole is how much of a console is read at most.
const maxConsole = 4 << 20

// tail returns the last lines of a file, all when lines is 0; a file that does
// not exist is empty.
func tail(path string, lines int) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the console: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", fmt.Errorf("reading the console: %w", err)
	}
	text := make([]byte, min(size, maxConsole))
	if _, err := f.ReadAt(text, size-int64(len(text))); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the console: %w", err)
	}
	if lines <= 0 {
		return string(text), nil
	}
	all := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], ""), nil
}
