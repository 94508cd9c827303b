package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

func at(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }

func TestPlainTellsEachChangeAndHowLong(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p, err := NewProgress("plain", Streams{Err: &out})
	if err != nil {
		t.Fatal(err)
	}
	since := at(0)
	for _, e := range []event.Event{
		{Time: at(0), Step: "k3s", State: event.Started, Message: "building", Since: since},
		{Time: at(1), Step: "k3s", State: event.Running, Message: "too soon to repeat", Since: since},
		{Time: at(11), Step: "k3s", State: event.Waiting, Message: "for the load balancer", Since: since},
		{Time: at(25), Step: "k3s", State: event.Running, Done: 512, Total: 2048, Unit: "bytes", Since: since},
		{Time: at(50), Step: "k3s", State: event.Failed, Error: "quota exceeded", Since: since},
		{Time: at(51), Step: "runc", State: event.Skipped, Message: "unchanged", Since: at(51)},
		{Time: at(52), State: event.Note, Message: "hello"},
	} {
		p.Emit(e)
	}
	p.Close()
	want := "03:04:00 • k3s: building\n" +
		"03:04:11 … k3s: for the load balancer (11s)\n" +
		"03:04:25 • k3s: 512 B of 2.0 KiB, 25 % (25s)\n" +
		"03:04:50 ✗ k3s: quota exceeded (50s)\n" +
		"03:04:51 = runc: unchanged (0.0s)\n" +
		"03:04:52 · hello\n"
	if got := out.String(); got != want {
		t.Errorf("printed\n%swant\n%s", got, want)
	}
}

func TestJSONLinesCarryTheEvent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p, err := NewProgress("json", Streams{Err: &out})
	if err != nil {
		t.Fatal(err)
	}
	step := event.Start(p, "seed", "creating")
	step.Wait("BUILD")
	step.Count(1, 3, "items")
	step.End("", errors.New("no valid host"))
	p.Close()
	var states []event.State
	decoder := json.NewDecoder(&out)
	for decoder.More() {
		var e event.Event
		if err := decoder.Decode(&e); err != nil {
			t.Fatal(err)
		}
		if e.Step != "seed" || e.Time.IsZero() || e.Since.IsZero() {
			t.Errorf("event without step or times: %+v", e)
		}
		states = append(states, e.State)
	}
	if len(states) != 4 || states[1] != event.Waiting || states[3] != event.Failed {
		t.Errorf("states %v", states)
	}
}

func TestTerminalKeepsWhatEndedAndRedrawsTheRest(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newTerminal(&out, 30)
	event.Start(p, "slow", "a message that is much longer than the screen is wide")
	event.Start(p, "fast", "x").End("built", nil)
	p.Close()
	text := out.String()
	if !strings.Contains(text, "✓ fast: built") {
		t.Errorf("the ended step is not there: %q", text)
	}
	if last := text[strings.LastIndex(text, "\x1b[J"):]; strings.Contains(last, "slow") {
		t.Errorf("the spinner is left on the screen: %q", last)
	}
	for _, line := range strings.Split(text, "\n") {
		if visible := strings.TrimPrefix(line[strings.LastIndex(line, "\x1b[J")+1:], "[J"); len([]rune(visible)) >= 30 {
			t.Errorf("line of %d columns would wrap: %q", len([]rune(visible)), visible)
		}
	}
}

// TestProgressIsClosedTwice, as by a command that closes it before it prints its result, and
// when it returns.
func TestProgressIsClosedTwice(t *testing.T) {
	t.Parallel()
	for _, mode := range Modes() {
		for _, terminal := range []bool{true, false} {
			p, err := NewProgress(mode, Streams{Err: &bytes.Buffer{}, Terminal: terminal})
			if err != nil {
				t.Fatal(err)
			}
			event.Start(p, "k3s", "building").End("built", nil)
			p.Close()
			p.Close()
		}
	}
}

func TestAutoIsPlainWithoutATerminal(t *testing.T) {
	t.Parallel()
	p, err := NewProgress("auto", Streams{Err: &bytes.Buffer{}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r, ok := p.(*reminder)
	if !ok {
		t.Fatalf("auto without a terminal is %T", p)
	}
	if _, ok := r.Progress.(*plain); !ok {
		t.Errorf("auto without a terminal is %T", r.Progress)
	}
	if _, err := NewProgress("fancy", Streams{}); err == nil || !strings.Contains(err.Error(), "auto, tty, plain, json") {
		t.Errorf("unknown mode: %v", err)
	}
}

func TestOutputFormats(t *testing.T) {
	t.Parallel()
	value := struct {
		Name string `json:"name"`
	}{"kubelet"}
	table := Table{Header: []string{"NAME", "KIND"}, Rows: [][]string{{"kubelet", "binary"}}, Footer: []string{"1 item"}}
	for format, want := range map[string]string{
		"table": "NAME     KIND\nkubelet  binary\n1 item\n",
		"json":  "{\n  \"name\": \"kubelet\"\n}\n",
		"yaml":  "name: kubelet\n",
	} {
		var out bytes.Buffer
		if err := Output(&out, format, value, table); err != nil || out.String() != want {
			t.Errorf("%s: %q (%v), want %q", format, out.String(), err, want)
		}
	}
	for want, empty := range map[string]Table{"NAME  KIND\n": {Header: table.Header}, "1 item\n": {Header: table.Header, Footer: table.Footer}} {
		var out bytes.Buffer
		if err := Output(&out, "table", value, empty); err != nil || out.String() != want {
			t.Errorf("without rows: %q (%v), want %q", out.String(), err, want)
		}
	}
	if err := Output(&bytes.Buffer{}, "xml", value, table); err == nil {
		t.Error("an unknown format is accepted")
	}
}

func TestSizesAndTimesAsPeopleSayThem(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 30: "3.0 GiB", 5 << 40: "5.0 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{400 * time.Millisecond: "0.4s", 12 * time.Second: "12s", 184 * time.Second: "3m04s", 125 * time.Minute: "2h05m"} {
		if got := Duration(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

func TestBytesHaveRateAndRest(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]event.Event{
		"10.0 MiB of 40.0 MiB, 25 %, 5.0 MiB/s, 6.0s left": {Rate: 5 << 20, Done: 10 << 20, Total: 40 << 20, Unit: "bytes"},
		"10.0 MiB, 5.0 MiB/s":                              {Rate: 5 << 20, Done: 10 << 20, Unit: "bytes"},
		"10.0 MiB of 40.0 MiB, 25 %":                       {Done: 10 << 20, Total: 40 << 20, Unit: "bytes"},
		"1 of 4 items, 25 %":                               {Rate: 1, Done: 1, Total: 4, Unit: "items"},
		"40.0 MiB of 40.0 MiB, 100 %, 20.0 MiB/s":          {Rate: 20 << 20, Done: 40 << 20, Total: 40 << 20, Unit: "bytes"},
	} {
		if got := count(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestACellIsOneLine, whatever a tenant calls a cluster.
func TestACellIsOneLine(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"shop\nother\tCREATE_FAILED", "\x1b[2Jok"}}
	for _, table := range []Table{{Rows: rows}, {Rows: rows, Fit: Terminal}} {
		var out bytes.Buffer
		if err := Output(&out, "table", nil, table); err != nil || out.String() != "shop⟨U+000A⟩other⟨U+0009⟩CREATE_FAILED  ⟨U+001B⟩[2Jok\n" {
			t.Errorf("fit %d: %q, %v", table.Fit, out.String(), err)
		}
	}
	if rows[0][1] != "\x1b[2Jok" {
		t.Errorf("the caller's rows are changed: %q", rows)
	}
}

// TestTablesFit cuts the widest columns first, and none to nothing.
func TestTablesFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200)
	table := Table{Header: []string{"NAME", "STATE", "CAUSE"}, Rows: [][]string{{"shop", "Available", "ok"}, {"k8s", "Pending", long}}, Fit: 40}
	for fit, want := range map[int]string{
		40: "NAME  STATE      CAUSE\nshop  Available  ok\nk8s   Pending    " + strings.Repeat("é", 22) + "…\n",
		5:  "NAME  STATE      CAUSE\nshop  Available  ok\nk8s   Pending    " + strings.Repeat("é", 11) + "…\n",
		0:  "NAME  STATE      CAUSE\nshop  Available  ok\nk8s   Pending    " + long + "\n",
	} {
		var out bytes.Buffer
		table.Fit = fit
		if err := Output(&out, "table", nil, table); err != nil || out.String() != want {
			t.Errorf("fit %d: %v\n%s", fit, err, out.String())
		}
	}
}
