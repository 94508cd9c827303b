package logs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/alerts"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/podlogs"
	"github.com/slipway-sh/slipway/internal/ui"
)

// query is what is asked of Loki; all mistakes are told at once.
func (o options) query(units []string) (podlogs.Query, error) {
	var wrong []error
	if len(units) > 0 {
		wrong = append(wrong, fault.Usage("unit "+units[0], errors.New("pods have no units"), "leave it out, or leave out --pods"))
	}
	if o.follow || o.console {
		wrong = append(wrong, fault.Usage("--pods", errors.New("it goes with neither --follow nor --console"), "give it alone; kubectl logs --follow follows a pod"))
	}
	if o.lines < 1 || o.lines > podlogs.MaxLines {
		wrong = append(wrong, fault.Usage("--lines "+strconv.Itoa(o.lines), fmt.Errorf("Loki gives 1 to %d lines", podlogs.MaxLines), "give such a number, and look less far back by --since"))
	}
	if o.since < time.Second {
		wrong = append(wrong, fault.Usage("--since "+o.since.String(), errors.New("it is not even a second"), "give how far back to look, such as 2h"))
	}
	namespace, pod, _ := strings.Cut(o.pods, "/")
	if namespace == "" || strings.Contains(pod, "/") {
		wrong = append(wrong, fault.Usage("--pods "+o.pods, errors.New("it is neither a namespace nor a namespace with a pod"), "write it such as capo-system, or kube-system/etcd"))
	}
	return podlogs.Query{Namespace: namespace, Pod: pod, Contains: o.grep, Since: o.since, Lines: o.lines}, errors.Join(wrong...)
}

// printPods prints lines that Loki keeps.
func (o options) printPods(ctx context.Context, streams ui.Streams, units []string) error {
	query, err := o.query(units)
	if err != nil {
		return err
	}
	on, _, leave, err := target.OpenMonitored(ctx, o.from)
	if err != nil {
		return err
	}
	defer leave()
	all, err := podlogs.Read(ctx, alerts.On(on), query)
	if errors.Is(err, alerts.ErrAbsent) {
		return fault.New("logs of pods", err, "install it by spec.monitoring (docs/operations/monitoring.md), or use kubectl logs")
	}
	if err != nil {
		return fault.New("logs of pods", err, "see kubectl -n "+alerts.Namespace+" get pods")
	}
	return o.print(streams, all)
}

// print writes the lines, and says so if there are none.
func (o options) print(streams ui.Streams, all []podlogs.Line) error {
	if len(all) == 0 {
		fmt.Fprintf(streams.Err, "notice: no pod of %s wrote such a line in the last %s\n", o.pods, ui.Duration(o.since))
	}
	out := bufio.NewWriter(streams.Out)
	for _, l := range all {
		fmt.Fprintf(out, "%s %s %s %s %s\n", l.At.Format("2006-01-02T15:04:05.000Z"), l.Node, l.Pod, l.Container, l.Text)
	}
	return out.Flush()
}
