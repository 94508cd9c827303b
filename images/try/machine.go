package try

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/process"
	"github.com/slipway-sh/slipway/internal/qemu"
)

// machine is a QEMU that runs.
type machine struct {
	started time.Time
	// output has what the machine prints to its serial port, and is closed when
	// QEMU has ended.
	output chan []byte
	port   int
	cmd    *exec.Cmd
	errors bytes.Buffer
	once   sync.Once
	ended  error
}

// What the machine has.
const (
	memoryMiB  = 2048
	processors = 2
	mac        = "fa:16:3e:00:00:01"
)

// start makes the disks and starts QEMU.
func (h host) start(ctx context.Context, dir string, i image, firmware Firmware, accelerator string) (*machine, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.makeDisks(ctx, dir, i); err != nil {
		return nil, err
	}
	args := arguments(dir, accelerator, port)
	if firmware == UEFI {
		more, err := h.tools.Firmware(filepath.Join(dir, "variables.fd"))
		if err != nil {
			return nil, err
		}
		args = append(args, more...)
	}
	m := &machine{port: port, output: make(chan []byte, 64)}
	m.cmd = exec.Command(h.tools.System, args...) //nolint:noctx // stop ends it, whatever ends the trial
	m.cmd.Stderr = &m.errors
	// QEMU does not outlive this process, however that ends.
	m.cmd.SysProcAttr = process.Bound(true)
	serial, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	m.started = time.Now()
	if err := m.cmd.Start(); err != nil {
		return nil, fault.New("QEMU", err, "check that "+h.tools.System+" runs")
	}
	go m.copy(serial)
	return m, nil
}

// arguments are QEMU's. The network reaches nothing: only SSH comes in.
func arguments(dir, accelerator string, port int) []string {
	overlay, drive := filepath.Join(dir, "root.qcow2"), filepath.Join(dir, "config.iso")
	return append(qemu.Base("slipway-try", accelerator, processors, memoryMiB),
		"-machine", "q35,graphics=off", "-no-reboot",
		"-drive", "if=none,id=root,format=qcow2,cache=unsafe,discard=unmap,file="+qemu.Escape(overlay), "-device", "virtio-blk-pci,drive=root,bootindex=1",
		"-drive", "if=none,id=config,format=raw,readonly=on,file="+qemu.Escape(drive), "-device", "virtio-blk-pci,drive=config",
		"-netdev", fmt.Sprintf("user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", port), "-device", "virtio-net-pci,netdev=net,romfile=,mac="+mac,
		"-monitor", "none", "-serial", "stdio",
	)
}

// makeDisks makes the disk that the machine may write to, upon the image, and the
// configuration drive.
func (h host) makeDisks(ctx context.Context, dir string, i image) error {
	texts, err := documents()
	if err == nil {
		err = h.tools.Overlay(ctx, filepath.Join(dir, "root.qcow2"), i.path, i.format, i.bootSize())
	}
	if err == nil {
		err = h.tools.ConfigDrive(ctx, filepath.Join(dir, "config.iso"), texts)
	}
	if err != nil {
		return fault.New("the machine's disks", err, "free space in the temporary folder, or set TMPDIR to another")
	}
	return nil
}

// freePort finds a port of the loopback address that nothing listens at.
func freePort(ctx context.Context) (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// copy passes on the console until QEMU ends.
func (m *machine) copy(serial io.Reader) {
	defer close(m.output)
	for {
		piece := make([]byte, 4096)
		n, err := serial.Read(piece)
		if n > 0 {
			m.output <- piece[:n]
		}
		if err != nil {
			return
		}
	}
}

// wait returns how QEMU ended, never nil. The console must be read to its end.
func (m *machine) wait() error {
	m.once.Do(func() {
		err := m.cmd.Wait()
		if err == nil {
			err = errors.New("the machine switched itself off")
		}
		m.ended = exited{fmt.Errorf("%w: %s", err, bytes.TrimSpace(m.errors.Bytes()))}
	})
	return m.ended
}

// stop ends QEMU, and returns when it is gone.
func (m *machine) stop() {
	_ = m.cmd.Process.Kill() // it may have ended by itself
	for range m.output {
	}
	_ = m.wait()
}

// ssh returns a channel that is closed when an SSH server answers.
func (m *machine) ssh(ctx context.Context) <-chan struct{} {
	answered := make(chan struct{})
	go func() {
		dialer := net.Dialer{Timeout: 5 * time.Second}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(m.port))
		for ctx.Err() == nil {
			if speaksSSH(ctx, dialer, address) {
				close(answered)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	}()
	return answered
}

// speaksSSH connects. QEMU itself accepts: only the banner shows a server.
func speaksSSH(ctx context.Context, dialer net.Dialer, address string) bool {
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second)) // a connection without one would only wait longer
	banner := make([]byte, 4)
	_, err = io.ReadFull(conn, banner)
	return err == nil && string(banner) == "SSH-"
}
