package remote

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
)

// Streams are the input and output of a session.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Terminal is the terminal of a session.
type Terminal struct {
	// Type is terminfo's name, such as "xterm-256color".
	Type string
	Size
	// Resized delivers new sizes; nil never does.
	Resized <-chan Size
}

// Size of a terminal in characters.
type Size struct{ Width, Height int }

// Session runs a command as the logged-in user, or a login shell if the command is
// empty, and returns its exit status. With a terminal it is interactive.
func (m *Machine) Session(ctx context.Context, streams Streams, terminal *Terminal, command string) (status int, err error) {
	session, leave, err := m.session(ctx, "opening a session")
	if err != nil {
		return 0, err
	}
	defer leave()
	session.Stdin, session.Stdout, session.Stderr = streams.In, streams.Out, streams.Err
	err = within(ctx, session, func() error { return m.interact(ctx, session, terminal, command) })
	var exit *ssh.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case errors.As(err, &exit):
		return exit.ExitStatus(), nil
	case err != nil:
		return 0, fmt.Errorf("session on %s: %w", m.name, m.because(err))
	}
	return 0, nil
}

// interact runs a command, or a shell, to its end.
func (m *Machine) interact(ctx context.Context, session *ssh.Session, terminal *Terminal, command string) (err error) {
	if terminal != nil {
		if err := session.RequestPty(terminal.Type, terminal.Height, terminal.Width, ssh.TerminalModes{}); err != nil {
			return fmt.Errorf("opening a terminal: %w", err)
		}
		go follow(ctx, session, terminal.Resized)
	}
	if command == "" {
		err = session.Shell()
	} else {
		err = session.Start(command)
	}
	if err != nil {
		return err
	}
	return session.Wait()
}

func follow(ctx context.Context, session *ssh.Session, resized <-chan Size) {
	for {
		select {
		case <-ctx.Done():
			return
		case size, ok := <-resized:
			if !ok || session.WindowChange(size.Height, size.Width) != nil {
				return
			}
		}
	}
}
