package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// versions is how often the shortest command runs.
const versions = 21

// measureProgram measures the command that does nothing: what remains is what every command
// pays before it begins.
func (o options) measureProgram(ctx context.Context) ([]measure, error) {
	var wall, processor []time.Duration
	for i := range versions {
		cmd := exec.CommandContext(ctx, o.slipway, "version")
		begin := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("running slipway version: %w\n%s", err, out)
		}
		if i == 0 {
			continue // it reads the program from the disk
		}
		wall = append(wall, time.Since(begin))
		processor = append(processor, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	collections, err := o.collections(ctx)
	return []measure{newMeasure("slipway version, median", milliseconds(quantile(wall, 0.5)), "ms", 60),
		newMeasure("slipway version, processor time, median", milliseconds(quantile(processor, 0.5)), "ms", 0),
		newMeasure("slipway version, collections of garbage", float64(collections), "", 1)}, err
}

// collections counts how often the shortest command marks what the libraries have allocated.
func (o options) collections(ctx context.Context) (int, error) {
	cmd := exec.CommandContext(ctx, o.slipway, "version")
	cmd.Env = append(cmd.Environ(), "GODEBUG=gctrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("running slipway version with gctrace: %w\n%s", err, out)
	}
	return bytes.Count(append([]byte{'\n'}, out...), []byte("\ngc ")), nil
}
