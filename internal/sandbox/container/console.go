package container

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

// console is the terminal of a machine: systemd and cloud-init write to /dev/console only if it is
// one. A small process that outlives this one copies the output to the log.
type console struct {
	TTY string
	// The process that copies.
	process.ID
}

// openConsole creates a terminal whose output is appended to the log. The returned file is the
// machine's side.
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

// plain makes a terminal pass lines through unchanged.
func plain(tty *os.File) error {
	t, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		return fmt.Errorf("setting up a terminal: %w", err)
	}
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, t)
}

// keep starts the process that copies. It also holds the machine's side open: otherwise the
// terminal would end whenever nothing in the machine has it open.
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
	c.ID = process.Of(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }() // reaps it, should it end before this process
	return nil
}

// close ends the process that copies, if its id still belongs to that process.
func (c *console) close() {
	c.Kill()
	*c = console{}
}
