package source

// importBeforePods has k3s start its kubelet when all archives of images are imported. It waits for
// an empty queue, and the archive that it is importing is not in the queue any more: pods began
// beside the last and largest one. On a seed whose machine image was replaced, whose former images are on
// its data volume, pods of new versions were refused until then (ErrImagePull), and on an emulated
// machine pods and import held each other up until k3s ended itself. Now a mark goes through the
// queue, and again to its end while there is anything else in it.
func importBeforePods() []replacement {
	const file = "pkg/agent/containerd/watcher.go"
	return []replacement{
		{file, "type watchqueue struct {\n", "// allImported is the mark at the end of the queue; no path is empty.\nconst allImported = \"\"\n\ntype watchqueue struct {\n\timported chan struct{}\n"},
		{file, "\tw := &watchqueue{\n", "\tw := &watchqueue{\n\t\timported: make(chan struct{}),\n"},
		{file, "\tif shutdown {\n\t\treturn false\n\t}\n", "\tif shutdown {\n\t\treturn false\n\t}\n" + `
	if key == allImported {
		w.workqueue.Done(key)
		if w.workqueue.Len() > 0 {
			w.workqueue.Add(key)
		} else {
			close(w.imported)
		}
		return true
	}
`},
		{file, "\tfor w.workqueue.Len() > 0 {\n\t\ttime.Sleep(500 * time.Millisecond)\n\t}\n", `	w.workqueue.Add(allImported)
	select {
	case <-w.imported:
	case <-ctx.Done():
		return ctx.Err()
	}
`},
	}
}
