package try

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/qemu"
)

// watch follows a machine until it has booted, or it is known why it does not.
type watch struct {
	console  *console
	machine  *machine
	patience time.Duration
	timeout  time.Duration
	note     func(reached Reached, next Milestone)
	// spoke is called once, when the machine has printed something.
	spoke func()

	noted  map[Milestone]bool
	ended  error // how QEMU ended, if it did
	reason Reason
	end    time.Duration
}

// patience is how long a machine may take from one milestone to what must follow.
func patience(accelerator string) time.Duration {
	if accelerator == qemu.KVM {
		return 45 * time.Second
	}
	return 3 * time.Minute
}

// lastWords is how long a machine that stopped may go on printing why.
const lastWords = 3 * time.Second

func (w *watch) elapsed() time.Duration { return time.Since(w.machine.started) }

// run returns when there is a verdict, or the context ends.
func (w *watch) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	banner := w.machine.ssh(ctx)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	output := w.machine.output
	for {
		select {
		case <-ctx.Done():
			return
		case piece, open := <-output:
			if !open { // all that it printed is read
				w.ended, output = w.machine.wait(), nil
				break
			}
			w.console.write(piece, w.elapsed())
			if w.spoke != nil {
				w.spoke()
				w.spoke = nil
			}
		case <-banner:
			w.console.sshAnswers(w.elapsed())
			banner = nil
		case <-tick.C:
		}
		w.tell()
		if reason, decided := w.console.verdict(w.elapsed(), w.patience, w.timeout, w.ended); decided {
			w.reason, w.end = reason, w.elapsed()
			return
		}
	}
}

// tell passes on the milestones that are new.
func (w *watch) tell() {
	if w.noted == nil {
		w.noted = map[Milestone]bool{}
	}
	for _, r := range w.console.milestones() {
		if !w.noted[r.Milestone] {
			w.noted[r.Milestone] = true
			w.note(r, w.console.next())
		}
	}
}

// sshAnswers notes that the SSH server does. That shows a network, but not that
// kernel and init said anything.
func (c *console) sshAnswers(at time.Duration) {
	c.reached[SSHAnswers], c.hung = at, 0
	if _, known := c.reached[NetworkUp]; !known {
		c.reached[NetworkUp] = at
	}
}

// milestones are those reached, in order.
func (c *console) milestones() []Reached {
	var all []Reached
	for _, m := range Milestones() {
		if at, known := c.reached[m]; known {
			all = append(all, Reached{m, float64(at.Round(100*time.Millisecond)) / float64(time.Second)})
		}
	}
	return all
}

// next is the first milestone that is not reached.
func (c *console) next() Milestone {
	for _, m := range Milestones() {
		if _, known := c.reached[m]; !known {
			return m
		}
	}
	return ""
}

// exited says that QEMU ended; nil is a machine that switched itself off.
type exited struct{ err error }

func (e exited) Error() string { return fmt.Sprintf("QEMU ended: %v", e.err) }

// verdict decides whether the trial is over, and why: "" is a machine that booted.
func (c *console) verdict(now, patience, timeout time.Duration, ended error) (Reason, bool) {
	_, ssh := c.reached[SSHAnswers]
	done, finished := c.reached[CloudInitDone]
	switch {
	case c.stopped != "":
		return c.stopped, now-c.since >= lastWords || ended != nil
	case ended != nil && len(c.reached) == 0:
		return EmulatorFailed, true
	case ended != nil:
		return Restarted, true
	case finished && c.noSource:
		return NoDataSource, true
	case finished && ssh:
		return c.judge(), c.marker || now-max(done, c.reached[SSHAnswers]) >= 2*lastWords
	case finished && now-done > patience:
		return NoSSH, true
	case ssh && !c.kernelSpoke && (c.marker || now-c.reached[SSHAnswers] > patience):
		return NoSerialConsole, true
	case c.login && !c.cloudInit && now-c.loginSince > patience:
		return NoCloudInit, true
	case c.hung > 0 && now-c.hung > patience:
		return DeviceHung, true
	case now > timeout:
		return TimedOut, true
	}
	return "", false
}

// judge is the verdict about a machine that booted.
func (c *console) judge() Reason {
	switch {
	case !c.marker:
		return NoUserData
	case c.rootBytes <= c.image.size:
		return RootNotGrown // a file system that has not grown is smaller than the image
	case c.node.lack() != "":
		return IncompleteNode
	}
	return ""
}

// result puts what is known into the report.
func (w *watch) result(b *Boot, i image) {
	c := w.console
	b.Milestones, b.RootBytes, b.FailedUnits = c.milestones(), c.rootBytes, c.failedUnits
	b.Node = c.node
	b.Reason, b.Passed = w.reason, w.reason == "" && w.end > 0
	if b.Passed {
		return
	}
	b.Console = slices.Clone(c.tail())
	b.Reason, b.Cause, b.Remedy = c.explain(b.Reason, b.Firmware, w.ended)
}

// explain says a reason in the words of this machine and this image.
func (c *console) explain(r Reason, firmware Firmware, ended error) (reason Reason, cause, fix string) {
	cause, fix = c.words, remedy(r)
	switch r {
	case NoBootLoader:
		return c.image.noLoader(firmware)
	case TimedOut:
		cause = fmt.Sprintf("it waited for: %s", c.next())
		if !c.kernelSpoke && c.next() == KernelStarted {
			cause += "; since the boot loader nothing is printed on the serial console (is console=ttyS0 on the kernel command line?)"
		}
	case RootNotGrown:
		cause = fmt.Sprintf("the root file system has %d MiB on a disk of %d MiB", c.rootBytes>>20, c.image.bootSize()>>20)
	case IncompleteNode:
		cause = c.node.lack()
	case DeviceHung:
		cause = fmt.Sprintf("it waited for: %s, and the kernel says: %s", c.next(), c.report)
	case Restarted:
		cause = fmt.Sprintf("the machine restarted or switched itself off before: %s", c.next())
	case EmulatorFailed:
		cause = strings.TrimSpace(ended.Error())
	case NoSerialConsole:
		cause = "SSH answers, but neither the kernel nor init printed anything to the serial port"
	case NoDataSource:
		cause = "cloud-init found neither the configuration drive nor a metadata service"
	case NoCloudInit:
		cause = "there is a login prompt, but cloud-init printed nothing: it is not installed, or disabled because it found no data source"
	case NoUserData:
		cause = "cloud-init finished, but the script in the user data did not run"
	case NoSSH:
		cause = "cloud-init finished, but nothing answers at port 22"
	}
	return r, cause, fix
}

// missing is a fault about what the host lacks.
func missing(object, remedy, format string, args ...any) error {
	return &fault.Fault{Exit: fault.ExitPreflight, Object: object, Remedy: remedy, Err: fmt.Errorf(format, args...)}
}

var errNoTool = errors.New("not found")
