package source

import _ "embed"

// What the patch of kine adds to it.
var (
	//go:embed _patches/kine/onesender.go
	kineOneSender string
	//go:embed _patches/kine/progress.go
	kineProgress string
)

// kinePatch mends what lets the API server of k3s miss changes, answer without the
// latest ones, or end, when processors are busy.
//
// A compaction that took longer than its five seconds was rolled back by then. If that
// was noticed at its commit, the whole of k3s ended (orbstack/orbstack#758); noticed
// earlier, it is tried again after five minutes, and so it is now.
//
// Sends of several goroutines on one stream, which gRPC forbids, lost the count
// of its window: the API server waited for ever for what changed of a kind
// (k3s-io/kine#614).
//
// The progress of a watch is the revision up to which it was told everything.
// Kine told the newest of its database, also when events up to it were still on
// their way: a list left out what its own client had just written, and a watch
// could go without an event (k3s-io/kine#602, #731). Here the revision goes
// through the same channels, behind the events, and each watch answers when it
// has come to what was the newest at the question.
//
// Upstream has mended these two (0.14.16; kine#746), in releases that k3s 1.34 does
// not take.
func kinePatch() patch {
	const (
		watch         = "pkg/server/watch.go"
		logstructured = "pkg/logstructured/logstructured.go"
		sqllog        = "pkg/logstructured/sqllog/sql.go"
	)
	return patch{
		Module: "github.com/k3s-io/kine",
		Write:  map[string]string{"pkg/server/onesender.go": kineOneSender, "pkg/server/progress.go": kineProgress},
		Replace: []replacement{
			{watch, "server:   ws,", "server:   &oneSender{Watch_WatchServer: ws},"},
			// The newest revision does not go back when appends end in another order than they began.
			{sqllog, "s.currentRev.Store(rev)", "server.Raise(&s.currentRev, rev)"},
			{sqllog, "s.currentRev.CompareAndSwap(pollRevision, rev)", "server.Raise(&s.currentRev, rev)"},
			// Each batch ends with its revision, and comes to each watch with it.
			{sqllog, "if len(sequential) > 0 {\n\t\t\t\tresult <- sequential\n\t\t\t}", "result <- append(sequential, server.Seen(rev))"},
			{sqllog, "event.KV.Key == prefix {", "event.KV.Key == prefix || event.IsSeen() {"},
			{sqllog, "\tt.MustCommit()\n", "\tif err := t.Commit(); err != nil {\n\t\treturn 0, 0, errors.Wrap(err, \"failed to commit\")\n\t}\n"},
			{sqllog, "defer t.MustRollback()", "defer func() {\n\t\tif err := t.Rollback(); err != nil && err != sql.ErrTxDone {\n\t\t\tlogrus.Errorf(\"Compact rollback failed: %v\", err)\n\t\t}\n\t}()"},
			// A new watch begins with what the database has; what is written meanwhile follows.
			{logstructured, "rev, kvs, err := l.log.After(", "before, currentErr := l.log.CurrentRevision(ctx)\n\trev, kvs, err := l.log.After("},
			{logstructured, "if len(kvs) > 0 {\n\t\t\tresult <- kvs\n\t\t}", "if currentErr == nil {\n\t\t\tkvs = append(kvs, server.Seen(before))\n\t\t}\n\t\tresult <- kvs"},
			// One goroutine sends the events of a watch and its progress.
			{watch, "w.Progress(ws.Context())", "w.ask(ws.Context())"},
			{watch, "s.getProgressReportInterval(), w.ProgressIfSynced)", "s.getProgressReportInterval(), w.ask)"},
			{watch, "progressCh = make(chan int64)", "progressCh = make(chan int64, 1)"},
			{watch, "\t\touter := true\n", "\t\touter := true\n\t\ttold := progress{start: startRevision}\n"},
			{watch, "case revision = <-progressCh:", "case asked, open := <-progressCh:\n\t\t\t\tif !open {\n\t\t\t\t\tprogressCh = nil\n\t\t\t\t}\n\t\t\t\ttold.asked = asked"},
			{watch, "// get max revision from collected events", "events = told.take(events)"},
			{watch, "if len(events) == 0 || revision >= startRevision {", "if len(events) > 0 && revision >= startRevision {"},
			{watch, "if err := w.server.Send(wr); err != nil {\n\t\t\t\t\tw.Cancel(id, 0, 0, err)\n\t\t\t\t}\n\t\t\t}", "if err := w.server.Send(wr); err != nil {\n\t\t\t\t\tw.Cancel(id, 0, 0, err)\n\t\t\t\t}\n\t\t\t}\n\t\t\ttold.answer(w, id)"},
		},
	}
}
