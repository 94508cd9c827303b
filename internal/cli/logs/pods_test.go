package logs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/podlogs"
	"github.com/slipway-sh/slipway/internal/ui"
)

// TestWhichPods: a namespace, or the beginning of a pod's name in it; all mistakes at once.
func TestWhichPods(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		o     options
		units []string
		want  podlogs.Query
		wrong []string
	}{
		"a namespace":  {options{pods: "capo-system", lines: 10, since: time.Hour}, nil, podlogs.Query{Namespace: "capo-system", Since: time.Hour, Lines: 10}, nil},
		"pods":         {options{pods: "kube-system/etcd", grep: "x", lines: 5000, since: time.Minute}, nil, podlogs.Query{Namespace: "kube-system", Pod: "etcd", Contains: "x", Since: time.Minute, Lines: 5000}, nil},
		"no namespace": {options{pods: "/etcd", lines: 5001, follow: true}, []string{"k3s"}, podlogs.Query{}, []string{"unit k3s", "--pods: ", "--lines 5001", "--since 0s", "--pods /etcd"}},
		"a container":  {options{pods: "n/p/c", lines: 1, since: time.Hour}, nil, podlogs.Query{}, []string{"--pods n/p/c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.o.query(test.units)
			told := fault.All(err)
			if len(told) != len(test.wrong) {
				t.Fatalf("told %v", told)
			}
			for i, want := range test.wrong {
				if !strings.HasPrefix(told[i].Error(), want) || fault.ExitCode(told[i]) != fault.ExitUsage || fault.Remedy(told[i]) == "" {
					t.Errorf("%v, want %s", told[i], want)
				}
			}
			if err == nil && got != test.want {
				t.Errorf("query %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestPrintedLines begin with where they are from; none is a notice.
func TestPrintedLines(t *testing.T) {
	t.Parallel()
	var out, notice bytes.Buffer
	streams := ui.Streams{Out: &out, Err: &notice}
	o := options{pods: "n", since: time.Hour}
	if err := o.print(streams, []podlogs.Line{{At: time.Unix(1, 5e6).UTC(), Node: "n1", Pod: "p", Container: "c", Text: "hello you"}}); err != nil || notice.Len() > 0 {
		t.Fatal(err, notice.String())
	}
	if out.String() != "1970-01-01T00:00:01.005Z n1 p c hello you\n" {
		t.Errorf("printed %q", out.String())
	}
	if err := o.print(streams, nil); err != nil || !strings.Contains(notice.String(), "no pod of n wrote such a line in the last 1h00m") {
		t.Errorf("%v, %q", err, notice.String())
	}
}

// TestWhatIsForPodsOnly is refused without --pods: it would have no effect.
func TestWhatIsForPodsOnly(t *testing.T) {
	t.Parallel()
	if told := fault.All((options{grep: "x", since: time.Minute, console: true}).withoutPods()); len(told) != 2 {
		t.Errorf("told %v", told)
	}
	if err := (options{since: defaultSince}).withoutPods(); err != nil {
		t.Error(err)
	}
}
