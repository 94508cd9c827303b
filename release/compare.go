package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// compareTwo makes the release in two clones, in folders of other names, and
// fails for each file whose bytes differ. Nothing of it stays.
func compareTwo(ctx context.Context, o options) error {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "slipway-twice-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var outs []string
	for _, name := range []string{"one", "another-folder"} {
		two := o
		two.root, two.out = filepath.Join(dir, name), filepath.Join(dir, name+"-files")
		if err := clone(ctx, root, two.root); err != nil {
			return err
		}
		if err := makeRelease(ctx, two); err != nil {
			return err
		}
		outs = append(outs, two.out)
	}
	names, err := differences(outs[0], outs[1])
	if err != nil {
		return err
	}
	fmt.Fprintf(o.log, "release: all %d files are the same, byte for byte\n", names)
	return nil
}

// differences compares two folders of files, and counts those that are equal.
func differences(one, other string) (equal int, err error) {
	names := map[string]bool{}
	for _, dir := range []string{one, other} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return 0, err
		}
		for _, entry := range entries {
			names[entry.Name()] = true
		}
	}
	var wrong []error
	for name := range names {
		first, err1 := digest(filepath.Join(one, name))
		second, err2 := digest(filepath.Join(other, name))
		switch {
		case err1 != nil || err2 != nil:
			wrong = append(wrong, errors.Join(err1, err2))
		case first != second:
			wrong = append(wrong, fmt.Errorf("%s differs: %s and %s", name, first, second))
		default:
			equal++
		}
	}
	return equal, errors.Join(wrong...)
}
