package source

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

// fetchers is how many groups have their modules downloaded at once: each downloads several.
const fetchers = 2

// groups are those of what will be made, the longest work first. One alone needs no help: its
// compiler downloads what it compiles.
func (b *builder) groups() []string {
	first := map[string]rank{}
	for _, name := range b.progress.names() {
		group, r := b.recipes[name].group(), b.ranks[name]
		if best, ok := first[group]; group != "" && (!ok || r.before(best)) {
			first[group] = r
		}
	}
	if len(first) < 2 {
		return nil
	}
	var names []string
	for group := range first {
		names = append(names, group)
	}
	slices.SortFunc(names, func(x, y string) int {
		if first[x].before(first[y]) {
			return -1
		}
		return 1
	})
	return names
}

// fetch downloads the modules of groups while the first compilers work, so that the next ones
// need not wait. What fails is not told here: the recipe that needs the module meets it again,
// and has a name for it.
func (b *builder) fetch(ctx context.Context, groups []string) {
	var workers errgroup.Group
	workers.SetLimit(fetchers)
	for _, group := range groups {
		workers.Go(func() error {
			_ = b.fetchGroup(ctx, group)
			return nil
		})
	}
	_ = workers.Wait()
}

// fetchGroup has a folder of its own, because the group's workspace belongs to its compilers.
func (b *builder) fetchGroup(ctx context.Context, group string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	dir := b.work("fetch", group)
	stamp, complete := filepath.Join(dir, ".complete"), moduleFingerprint(group)
	if text, err := os.ReadFile(stamp); err == nil && string(text) == complete {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := writeModule(dir, group); err != nil {
		return err
	}
	if _, err := b.capture(ctx, dir, "go", "mod", "download"); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(complete), 0o644)
}
