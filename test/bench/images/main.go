// Command images measures `slipway image upload` beside Debian's `openstack
// image create` of the same file, on a sandbox in a process of its own:
// throughput, conversion from qcow2, memory, and a second sync.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-sh/slipway/internal/ui"
)

type options struct {
	slipway, output, temp string
	mebibytes, rounds     int
}

func main() {
	var o options
	flag.StringVar(&o.slipway, "slipway", "bin/slipway", "the program to measure")
	flag.StringVar(&o.output, "o", "table", "output format: "+strings.Join(ui.Formats(), ", "))
	flag.StringVar(&o.temp, "temp", "", "folder for the images, three times their size (default: the system's)")
	flag.IntVar(&o.mebibytes, "size", 2048, "size of the image in MiB")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each is done, in turn; the best counts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run: the folder has images, sandbox and clouds.yaml.
type bench struct {
	options
	dir string
}

func (o options) run(ctx context.Context) (err error) {
	if o.slipway, err = filepath.Abs(o.slipway); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.temp, "slipway-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := bench{o, dir}
	size := int64(o.mebibytes) << 20
	if err := writeImages(b.path("disk.raw"), b.path("disk.qcow2"), size); err != nil {
		return err
	}
	if _, err := b.command(ctx, o.slipway, "sandbox", "start", "--driver", "none", "--factor", "0", "--listen", "127.0.0.1:0", "--dir", b.path("sandbox")); err != nil {
		return err
	}
	defer func() {
		_, stopped := b.command(context.WithoutCancel(ctx), o.slipway, "sandbox", "stop", "--dir", b.path("sandbox"))
		err = errors.Join(err, stopped)
	}()
	measures, err := b.measure(ctx)
	if err != nil {
		return err
	}
	return ui.Output(os.Stdout, o.output, measures, table(measures))
}

func (b bench) path(name string) string { return filepath.Join(b.dir, name) }

// took is what one command took.
type took struct {
	elapsed time.Duration
	// memory is the most that the process had, in MiB.
	memory float64
}

func (b bench) command(ctx context.Context, name string, args ...string) (took, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+filepath.Join(b.path("sandbox"), "clouds.yaml"), "OS_CLOUD=sandbox")
	command.Dir = b.dir
	begin := time.Now()
	out, err := command.CombinedOutput()
	t := took{elapsed: time.Since(begin)}
	if err != nil {
		return t, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		t.memory = float64(usage.Maxrss) / 1024
	}
	return t, nil
}

// way is one way to bring an image, and the name that it gets.
type way struct {
	image string
	args  []string
}

// best brings an image by each way in turn, some times, so that what else the
// machine does meets all alike; what was made is deleted again but for the last
// round. The quickest of each counts.
func (b bench) best(ctx context.Context, ways ...way) ([]took, error) {
	all := make([][]took, len(ways))
	for n := range b.rounds {
		for i, w := range ways {
			t, err := b.command(ctx, w.args[0], w.args[1:]...)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], t)
			if n == b.rounds-1 && w.image == kept {
				continue
			}
			if _, err := b.command(ctx, "openstack", "image", "delete", w.image); err != nil {
				return nil, err
			}
		}
	}
	var quickest []took
	for _, list := range all {
		quickest = append(quickest, slices.MinFunc(list, func(x, y took) int { return cmp.Compare(x.elapsed, y.elapsed) }))
	}
	return quickest, nil
}

// kept is the image that stays for the second sync.
const kept = "plain"

// measure is one result; Target is the value that is wanted, AtLeast says in
// which direction.
type measure struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Target  float64 `json:"target,omitempty"`
	AtLeast bool    `json:"atLeast,omitempty"`
	Result  string  `json:"result,omitempty"`
}

func wanted(name string, value float64, unit string, target float64, atLeast bool) measure {
	m := measure{name, value, unit, target, atLeast, "missed"}
	if atLeast && value >= target || !atLeast && value <= target {
		m.Result = "ok"
	}
	return m
}

func (b bench) measure(ctx context.Context) ([]measure, error) {
	brought, err := b.best(ctx,
		way{"by-client", []string{"openstack", "image", "create", "--disk-format", "raw", "--container-format", "bare", "--file", "disk.raw", "by-client"}},
		way{kept, []string{b.slipway, "image", "upload", "disk.raw", "--name", kept, "--format", "raw"}},
		way{"converted", []string{b.slipway, "image", "upload", "disk.qcow2", "--name", "converted", "--convert", "raw"}})
	if err != nil {
		return nil, err
	}
	client, plain, converted := brought[0], brought[1], brought[2]
	if err := os.WriteFile(b.path("images.yaml"), []byte(fmt.Sprintf("apiVersion: slipway.sh/v1alpha1\nkind: Images\nspec: {images: [{name: plain, file: disk.raw, format: raw, sha512: %s}]}\n", b.sha512("disk.raw"))), 0o600); err != nil {
		return nil, err
	}
	again, err := b.command(ctx, b.slipway, "image", "sync", "--cloud", "sandbox")
	if err != nil {
		return nil, err
	}
	idle, err := b.command(ctx, b.slipway, "version") // what the program itself takes, most of it the file's pages
	if err != nil {
		return nil, err
	}
	rate := func(t took) float64 { return float64(b.mebibytes) / t.elapsed.Seconds() }
	return []measure{
		{Name: "openstack image create", Value: rate(client), Unit: "MiB/s"}, {Name: "slipway image upload", Value: rate(plain), Unit: "MiB/s"},
		wanted("upload against the client", rate(plain)/rate(client), "×", 1, true),
		{Name: "slipway image upload, qcow2 to raw", Value: rate(converted), Unit: "MiB/s"},
		wanted("conversion against the client", rate(converted)/rate(client), "×", 0.8, true),
		{Name: "memory of slipway version", Value: idle.memory, Unit: "MiB"},
		wanted("memory of the upload beyond it", plain.memory-idle.memory, "MiB", 64, false),
		wanted("memory of the conversion beyond it", converted.memory-idle.memory, "MiB", 64, false),
		{Name: "memory of the client", Value: client.memory, Unit: "MiB"},
		wanted("a second sync", again.elapsed.Seconds(), "s", 1, false),
	}, nil
}

func table(all []measure) ui.Table {
	t := ui.Table{Header: []string{"WHAT", "VALUE", "UNIT", "WANTED", "RESULT"}}
	for _, m := range all {
		target := ""
		if m.Target > 0 {
			target = fmt.Sprintf("%s %g", map[bool]string{true: "≥", false: "≤"}[m.AtLeast], m.Target)
		}
		t.Rows = append(t.Rows, []string{m.Name, fmt.Sprintf("%.2f", m.Value), m.Unit, target, m.Result})
	}
	return t
}
