package proposal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// maxFile is the size of files that are not read: no pipeline or environment is that large.
const maxFile = 1 << 20

// Git is a repository. Nothing here touches its working tree or its index: files are read
// from a commit, and a branch is made of objects, so that a killed run leaves nothing that
// can be seen.
type Git struct {
	dir, program string
	env          []string
}

// OpenGit finds the repository that a folder is in. The environment is that of git.
func OpenGit(ctx context.Context, dir string, env []string) (*Git, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fault.New("git", errors.New("it is not installed"), "install git")
	}
	g := &Git{dir: dir, program: program, env: env}
	top, err := g.run(ctx, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fault.Usage(dir, err, "run the command in a clone of the repository of your environments, or name it with --repository")
	}
	g.dir = top
	return g, nil
}

// run runs git, and returns what it printed, without the last newline.
func (g *Git) run(ctx context.Context, stdin []byte, args ...string) (string, error) {
	out, err := g.output(ctx, stdin, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// output runs git, and returns what it printed as it is.
func (g *Git) output(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, g.program, append([]string{"-C", g.dir}, args...)...)
	cmd.Env, cmd.Stdin = g.env, bytes.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return out.Bytes(), nil
}

// Head is the commit that is checked out.
func (g *Git) Head(ctx context.Context) (string, error) {
	commit, err := g.run(ctx, nil, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return "", fault.New(g.dir, err, "commit your environments first: the proposal starts from what is committed")
	}
	return commit, nil
}

// Each reads the text files of a commit that may have pins.
func (g *Git) Each(ctx context.Context, commit string, words []string, do func(file string, text []byte)) error {
	args := []string{"grep", "-l", "-z", "-I", "-F", "--full-name"}
	for _, word := range words {
		args = append(args, "-e", word)
	}
	list, err := g.run(ctx, nil, append(args, commit)...)
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) && ended.ExitCode() == 1 {
		return nil // no file has one
	}
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.Trim(list, "\x00"), "\x00") {
		size, err := g.run(ctx, nil, "cat-file", "-s", name)
		if err != nil {
			return err
		}
		if len(size) > len(fmt.Sprint(maxFile)) {
			continue
		}
		text, err := g.output(ctx, nil, "cat-file", "blob", name)
		if err != nil {
			return err
		}
		_, file, _ := strings.Cut(name, ":")
		do(file, text)
	}
	return nil
}

// Branch makes a branch with one commit after another one, in which files have other texts. A
// branch of the name that has this change is left as it is; one that has not is an error.
func (g *Git) Branch(ctx context.Context, branch, parent, message string, files map[string][]byte) (commit string, err error) {
	if _, err := g.run(ctx, nil, "check-ref-format", "--branch", branch); err != nil {
		return "", fault.Usage("--branch "+branch, errors.New("this is no name of a branch"), "give one such as slipway-update")
	}
	tree, err := g.tree(ctx, parent, files)
	if err != nil {
		return "", fmt.Errorf("writing the change: %w", err)
	}
	ref := "refs/heads/" + branch
	if there, err := g.run(ctx, nil, "rev-parse", "--verify", "--quiet", ref+"^{commit}"); err == nil {
		now, err := g.run(ctx, nil, "rev-parse", there+"^{tree}")
		if err != nil {
			return "", err
		}
		if now != tree {
			return "", fault.Usage("branch "+branch, errors.New("it is there, with another content"), "delete it with git branch -D "+branch+", or name another one with --branch")
		}
		return there, nil
	}
	commit, err = g.run(ctx, []byte(message), "commit-tree", tree, "-p", parent, "-F", "-")
	if err != nil {
		return "", fault.New("branch "+branch, err, "tell git who you are: git config user.name and user.email")
	}
	_, err = g.run(ctx, nil, "update-ref", "-m", "slipway update propose", ref, commit, strings.Repeat("0", len(commit)))
	return commit, err
}

// tree writes files over those of a commit, and returns the tree.
func (g *Git) tree(ctx context.Context, parent string, files map[string][]byte) (string, error) {
	dir, err := os.MkdirTemp("", "slipway-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	own := *g
	own.env = append(own.env[:len(own.env):len(own.env)], "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
	if _, err := own.run(ctx, nil, "read-tree", parent); err != nil {
		return "", err
	}
	for file, text := range files {
		entry, err := own.run(ctx, nil, "ls-files", "--stage", "--full-name", "--", ":/"+file)
		if err != nil {
			return "", err
		}
		mode, _, _ := strings.Cut(entry, " ")
		blob, err := own.run(ctx, text, "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		if _, err := own.run(ctx, nil, "update-index", "--cacheinfo", mode+","+blob+","+file); err != nil {
			return "", err
		}
	}
	return own.run(ctx, nil, "write-tree")
}

// Push pushes a branch to a remote.
func (g *Git) Push(ctx context.Context, remote, branch string) error {
	if _, err := g.run(ctx, nil, "push", "--quiet", "--", remote, "refs/heads/"+branch+":refs/heads/"+branch); err != nil {
		return fault.New("remote "+remote, err, "check the remote and your login; the branch "+branch+" is in this clone, and the same command pushes it again")
	}
	return nil
}
