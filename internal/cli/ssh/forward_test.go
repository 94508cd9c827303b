package ssh

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// listen is a machine that answers, once it has heard all, with what it heard.
func listen(t *testing.T) net.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		text, _ := io.ReadAll(connection)
		_, _ = connection.Write([]byte("heard " + string(text)))
	}()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

func TestForwardCopiesBothWaysToTheEnd(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	long := strings.Repeat("x", 1<<20)
	if err := exchange(t.Context(), ui.Streams{In: strings.NewReader(long), Out: &out}, listen(t)); err != nil || out.String() != "heard "+long {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}

func TestForwardEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	in, open := io.Pipe()
	defer open.Close()
	connection := listen(t)
	go cancel(fault.ErrInterrupted)
	if err := exchange(ctx, ui.Streams{In: in, Out: io.Discard}, connection); !errors.Is(err, fault.ErrInterrupted) {
		t.Errorf("ended with %v", err)
	}
}

func TestForwardRefusesWhatIsNoAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"10.6.0.12", ":22", "host:", "a:b:c"} {
		if err := through(t.Context(), ui.Streams{}, environment.Flags{}, address, nil); fault.ExitCode(err) != fault.ExitUsage || !strings.HasPrefix(err.Error(), "--forward: ") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := through(t.Context(), ui.Streams{}, environment.Flags{}, "10.6.0.12:22", []string{"ls"}); fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) == "" {
		t.Errorf("with a command: %v", err)
	}
}
