package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

const (
	dataUnit = "slipway-data.service"
	k3sUnit  = "k3s.service"
	// steady is how often the state of running units is checked.
	steady = 10 * time.Second
	// restarts is the number of restarts from which on k3s counts as crashing.
	restarts = 3
)

// active waits until k3s is running, and fails early if k3s or its volume failed.
func (h host) active(ctx context.Context) error {
	for pause := lookSoon; ; pause = min(pause*3/2, lookSlowly) {
		state, err := h.units(ctx)
		if err != nil || state == "active" {
			return err
		}
		status(ctx, "k3s is "+state)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// crashes returns the error of a k3s that was running and does not stay so; nil when the
// context ends. A connection that fails is for others to judge.
func (h host) crashes(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(steady):
		}
		_, err := h.units(ctx)
		if cause := (*fault.Fault)(nil); ctx.Err() == nil && errors.As(err, &cause) {
			return err
		}
	}
}

// units returns the state of k3s, and a fault if k3s or its volume failed for good.
func (h host) units(ctx context.Context) (state string, err error) {
	out, err := h.look(ctx, "systemctl", "show", "--property=Id,LoadState,ActiveState,NRestarts", dataUnit, k3sUnit)
	if err != nil {
		return "", err
	}
	state, unit, failure := judgeUnits(out)
	switch {
	case failure == nil:
		return state, nil
	case unit == "":
		return state, fault.New("seed image", failure, "leave spec.seed.image empty: the bundle's own image contains k3s")
	}
	return state, h.journal(ctx, unit, failure)
}

// judgeUnits reads the state of k3s from the output of systemctl show. If it or its
// volume failed for good it also returns why, and the unit whose journal has more.
func judgeUnits(out string) (state, unit string, failure error) {
	units := map[string]map[string]string{}
	for _, block := range strings.Split(out, "\n\n") {
		unit := map[string]string{}
		for _, line := range strings.Split(block, "\n") {
			key, value, _ := strings.Cut(line, "=")
			unit[key] = value
		}
		units[unit["Id"]] = unit
	}
	var tries int
	_, _ = fmt.Sscan(units[k3sUnit]["NRestarts"], &tries)
	switch state = units[k3sUnit]["ActiveState"]; {
	case units[k3sUnit]["LoadState"] == "not-found":
		return state, "", errors.New("it has no k3s")
	case units[dataUnit]["ActiveState"] == "failed":
		return state, dataUnit, errors.New("the data volume could not be mounted")
	case state == "failed" || state != "active" && tries >= restarts:
		return state, k3sUnit, fmt.Errorf("k3s does not start, after %d attempts", tries+1)
	}
	return state, "", nil
}

// journal adds the last log lines of a unit to an error.
func (h host) journal(ctx context.Context, unit string, err error) error {
	text, readErr := h.Run(ctx, "journalctl", "--unit", unit, "--no-pager", "--output", "cat", "--lines", "8")
	if readErr == nil && strings.TrimSpace(text) != "" {
		err = fmt.Errorf("%w; the last lines of its log:\n%s", err, strings.TrimSpace(text))
	}
	return fault.New(unit, err, "see its log with slipway ssh -- sudo journalctl -u "+unit)
}
