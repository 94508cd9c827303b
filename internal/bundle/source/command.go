package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/process"
)

// commandError is a command that failed, with the end of what it printed.
type commandError struct {
	command string
	output  string
	err     error
}

func (e *commandError) Error() string {
	if e.output == "" {
		return fmt.Sprintf("%s: %v", e.command, e.err)
	}
	return fmt.Sprintf("%s: %v\n%s", e.command, e.err, e.output)
}

func (e *commandError) Unwrap() error { return e.err }

// tailLines is how much of a failed command's output the error shows.
const tailLines = 15

// command prepares a command in a process group of its own, so that an
// interrupt ends the compilers that go started too.
func (b *builder) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, b.options.Env
	cmd.SysProcAttr = process.Bound(true)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a command; line is called with each line that it prints, and may be nil.
func (b *builder) runCommand(cmd *exec.Cmd, line func(string)) error {
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	tail := make(chan string, 1)
	go func() { tail <- readTail(reader, line) }()
	err := cmd.Run()
	writer.Close()
	output := <-tail
	if err != nil {
		return &commandError{strings.Join(cmd.Args[:min(3, len(cmd.Args))], " "), output, err}
	}
	return nil
}

func readTail(r io.Reader, line func(string)) string {
	var tail []string
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if line != nil {
			line(scanner.Text())
		}
		if tail = append(tail, scanner.Text()); len(tail) > tailLines {
			tail = tail[1:]
		}
	}
	_, _ = io.Copy(io.Discard, r) // a line past the buffer must not block the command
	return strings.Join(tail, "\n")
}

// capture runs a command and returns its standard output.
func (b *builder) capture(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := b.command(ctx, dir, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", &commandError{name + " " + strings.Join(args, " "), strings.TrimSpace(stdout.String() + stderr.String()), err}
	}
	return stdout.String(), nil
}

var (
	refused  = regexp.MustCompile(`(\S+@v\S+?): (?:reading|verifying)[^\n]*?: (40[34] [A-Za-z ]+|410 Gone)`)
	checksum = regexp.MustCompile(`verifying (\S+@v\S+?):? checksum mismatch`)
)

// explain gives an error its object, and a remedy for the causes that are known.
func explain(ctx context.Context, name string, err error) error {
	object := "item " + name
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", object, context.Cause(ctx))
	}
	text := err.Error()
	if m := refused.FindStringSubmatch(text); m != nil {
		return fault.New(object, fmt.Errorf("the module proxy refuses %s: %s", m[1], m[2]),
			"set GOPROXY to a proxy that serves it, or pull the item on a machine with internet access: slipway bundle pull --only "+name)
	}
	if m := checksum.FindStringSubmatch(text); m != nil {
		return fault.New(object, fmt.Errorf("module %s differs from the pinned one: checksum mismatch", m[1]),
			"do not use this module proxy or cache: clean it with `go clean -modcache`, then build again")
	}
	return full(name, err)
}

// full recognises a full disk, also in the words of a command.
func full(name string, err error) error {
	object := "item " + name
	if errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "no space left on device") {
		return fault.New(object, errors.New("no space left on device"),
			"free space for the bundle (3 GB), the Go caches (20 GB) and the temporary folder; completed items are kept")
	}
	return fault.New(object, err, "fix the cause, then run the build again; completed items are kept")
}

// compilerMemory is what a compiler or linker may have where memory is plenty. Few need as much.
const compilerMemory = 1500 << 20

// compilerGC has the compiler collect garbage less often, unless the caller says how often. For
// k8s.io/api it takes 41 instead of 49 seconds of a processor and 530 instead of 370 MB, and
// where all that may run at a time have room, it does without.
func compilerGC(processors, jobs int, availableBytes int64) []string {
	if int64(processors)*int64(jobs)*compilerMemory <= availableBytes {
		return []string{"GOGC=off", "GOMEMLIMIT=" + strconv.Itoa(compilerMemory)}
	}
	return []string{"GOGC=400"}
}

// availableMemory is what the kernel says can be used without swapping, in
// bytes; 4 GiB when it does not say.
func availableMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return memoryPerJob
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == "MemAvailable:" {
			if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return memoryPerJob
}
