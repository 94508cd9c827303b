package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox"
)

// box is a sandbox in a process of its own.
type box struct {
	slipway, dir string
	process      sandbox.Process
	// answered is the time from the start of the command to the first answer.
	answered time.Duration
}

// startBox starts one with arguments that say what its servers are.
func startBox(ctx context.Context, slipway, dir string, more ...string) (*box, error) {
	begin := time.Now()
	args := append([]string{"sandbox", "start", "--factor", "0", "--listen", "127.0.0.1:0", "--dir", dir}, more...)
	out, err := exec.CommandContext(ctx, slipway, args...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("starting a sandbox: %w: %s", err, out)
	}
	b := &box{slipway: slipway, dir: dir}
	process, runs, err := sandbox.Running(dir)
	switch {
	case err != nil:
		return nil, err
	case !runs:
		return nil, fmt.Errorf("the sandbox in %s does not run", dir)
	}
	b.process = process
	if err := b.answer(ctx); err != nil {
		return nil, errors.Join(err, b.stop(context.WithoutCancel(ctx)))
	}
	b.answered = time.Since(begin)
	return b, nil
}

// answer makes a call that needs no token.
func (b *box) answer(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.process.URL+"/identity/v3", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("calling the sandbox: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("calling the sandbox: %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

func (b *box) stop(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, b.slipway, "sandbox", "reset", "--dir", b.dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("stopping the sandbox: %w: %s", err, out)
	}
	return nil
}

// memory reads a figure of the process in MiB: VmRSS is the memory that it has
// now, VmHWM the most that it had.
func (b *box) memory(figure string) (mebibytes float64, err error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", b.process.PID))
	if err != nil {
		return 0, fmt.Errorf("reading memory: %w", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 1 && fields[0] == figure+":" {
			kibibytes, err := strconv.ParseFloat(fields[1], 64)
			return kibibytes / 1024, err
		}
	}
	return 0, fmt.Errorf("reading memory: no %s", figure)
}

// measureStart starts new sandboxes, each in a folder of its own.
func (o options) measureStart(ctx context.Context, dir string) ([]measure, error) {
	var times []time.Duration
	for i := range o.starts {
		b, err := startBox(ctx, o.slipway, filepath.Join(dir, "start-"+strconv.Itoa(i)), "--driver", "none")
		if err != nil {
			return nil, err
		}
		times = append(times, b.answered)
		if err := b.stop(ctx); err != nil {
			return nil, err
		}
	}
	return []measure{newMeasure("sandbox start to the first answer, median", milliseconds(quantile(times, 0.5)), "ms", 1000)}, nil
}
