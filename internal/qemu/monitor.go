package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Monitor is a connection to a machine's QMP socket (qemu: docs/interop/qmp-spec). A
// machine serves one at a time; it is not safe for concurrent use.
type Monitor struct {
	conn    *net.UnixConn
	decoder *json.Decoder
	events  []Event
}

// Event is something that happened in a machine.
type Event struct {
	Name string          `json:"event"`
	Data json.RawMessage `json:"data"`
}

// CommandError is what a machine says to a command that it refuses. Class is
// "DeviceNotFound", "GenericError" and others.
type CommandError struct {
	Command string
	Class   string `json:"class"`
	Desc    string `json:"desc"`
}

// Error is QEMU's description.
func (e *CommandError) Error() string { return e.Command + ": " + e.Desc }

// monitorTime is how long a machine may take to answer; it answers between two
// slices of its guest's work.
const monitorTime = 30 * time.Second

// Dial connects to a QMP socket.
func Dial(ctx context.Context, path string) (*Monitor, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connecting to QEMU: %w", err)
	}
	m := &Monitor{conn: conn.(*net.UnixConn), decoder: json.NewDecoder(conn)}
	var greeting struct {
		QMP json.RawMessage `json:"QMP"`
	}
	stop := m.bound(ctx, monitorTime)
	defer stop()
	if err := m.decoder.Decode(&greeting); err != nil || greeting.QMP == nil {
		conn.Close()
		return nil, fmt.Errorf("connecting to QEMU: no greeting: %w", cause(ctx, err))
	}
	if err := m.Run(ctx, "qmp_capabilities", nil); err != nil {
		conn.Close()
		return nil, fmt.Errorf("connecting to QEMU: %w", err)
	}
	return m, nil
}

// Close ends the connection; the machine continues.
func (m *Monitor) Close() error { return m.conn.Close() }

// bound lets reads and writes end with the context, or after the time.
func (m *Monitor) bound(ctx context.Context, limit time.Duration) (stop func() bool) {
	_ = m.conn.SetDeadline(time.Now().Add(limit)) // only a closed connection has none, and says so when it is used
	return context.AfterFunc(ctx, func() { _ = m.conn.SetDeadline(time.Unix(1, 0)) })
}

func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Run runs a command; what it returns is not looked at.
func (m *Monitor) Run(ctx context.Context, command string, arguments map[string]any) error {
	_, err := m.run(ctx, command, arguments, nil)
	return err
}

// Query runs a command, and reads what it returns into a value.
func (m *Monitor) Query(ctx context.Context, command string, into any) error {
	text, err := m.run(ctx, command, nil, nil)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// SendFile gives the machine an open file, under a name that other commands use.
func (m *Monitor) SendFile(ctx context.Context, name string, file *os.File) error {
	_, err := m.run(ctx, "getfd", map[string]any{"fdname": name}, unix.UnixRights(int(file.Fd())))
	return err
}

func (m *Monitor) run(ctx context.Context, command string, arguments map[string]any, rights []byte) (json.RawMessage, error) {
	message := map[string]any{"execute": command}
	if arguments != nil {
		message["arguments"] = arguments
	}
	text, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	stop := m.bound(ctx, monitorTime)
	defer stop()
	if _, _, err := m.conn.WriteMsgUnix(append(text, '\n'), rights, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", command, cause(ctx, err))
	}
	for {
		answer, err := m.read()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", command, cause(ctx, err))
		case answer.Error != nil:
			answer.Error.Command = command
			return nil, answer.Error
		case answer.Return != nil:
			return answer.Return, nil
		}
	}
}

type message struct {
	Event
	Return json.RawMessage `json:"return"`
	Error  *CommandError   `json:"error"`
}

// read reads one message, and keeps it if it is an event.
func (m *Monitor) read() (message, error) {
	var in message
	if err := m.decoder.Decode(&in); err != nil {
		return in, err
	}
	if in.Name != "" {
		m.events = append(m.events, in.Event)
	}
	return in, nil
}

// ErrNoEvent says that an event did not come in time.
var ErrNoEvent = errors.New("the machine did not do it in time")

// Await waits, for at most the time, until an event has come since Dial whose data
// have that device.
func (m *Monitor) Await(ctx context.Context, event, device string, limit time.Duration) error {
	stop := m.bound(ctx, limit)
	defer stop()
	for {
		for _, e := range m.events {
			var data struct{ Device string }
			if e.Name == event && json.Unmarshal(e.Data, &data) == nil && data.Device == device {
				return nil
			}
		}
		if _, err := m.read(); err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() && ctx.Err() == nil {
				return fmt.Errorf("waiting for %s of %s: %w", event, device, ErrNoEvent)
			}
			return fmt.Errorf("waiting for %s of %s: %w", event, device, cause(ctx, err))
		}
	}
}
