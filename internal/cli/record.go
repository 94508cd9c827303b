package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/runlog"
	"github.com/slipway-sh/slipway/internal/ui"
)

// recorded are the commands whose runs slipway log shows: those that change an
// environment, its clusters or its state, or hand out what opens them.
func recorded() []string {
	return []string{"up", "undo", "recover", "down", "refresh", "sweep", "certs renew", "cluster create", "cluster delete", "cluster kubeconfig", "cluster rotate-credential", "seed shelve", "seed wake",
		"state import", "state export", "state forget", "state adopt", "state unlock"}
}

// record makes commands record their runs. A run that cannot be recorded goes on, with a
// warning: the log must not keep anybody from repairing an environment.
func record(root *cobra.Command, recorder *runlog.Recorder, streams ui.Streams) {
	for _, words := range recorded() {
		cmd, _, err := root.Find(strings.Fields(words))
		if err != nil || cmd.RunE == nil {
			continue
		}
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			err := begin(cmd, args, recorder)
			if err != nil {
				fmt.Fprintf(streams.Err, "warning: slipway log will not show this run: %v\n", err)
			}
			err = run(cmd, args)
			if ended := recorder.End(ctx, int(exitOf(ctx.Err(), err)), err, err != nil && ctx.Err() != nil); ended != nil {
				fmt.Fprintf(streams.Err, "warning: slipway log will not show how this run ended: %v\n", ended)
			}
			return err
		}
	}
}

// exitOf is the exit code that Report returns for an error.
func exitOf(interrupted, err error) fault.Exit {
	if interrupted != nil && err != nil {
		return fault.ExitInterrupted
	}
	return fault.ExitCode(err)
}

// begin records the beginning of a run that may change something. Without an environment there is nothing to record:
// the command says what is wrong with its file.
func begin(cmd *cobra.Command, args []string, recorder *runlog.Recorder) error {
	if looks(cmd) {
		return nil // it must leave nothing
	}
	var from environment.Flags
	from.Files, _ = cmd.Flags().GetStringArray("file")
	from.Name, _ = cmd.Flags().GetString("env")
	loaded, err := from.Load()
	if err != nil {
		return nil
	}
	store, _, err := runlog.Open(cmd.Context(), loaded.LogURL()) // it lasts as long as the process
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // an empty one is told as such
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return recorder.Begin(cmd.Context(), store, runlog.Record{Environment: loaded.Environment.Metadata.Name, Command: commandLine(cmd, args), User: name, Host: host, PID: os.Getpid(),
		Cloud: loaded.Environment.Spec.Cloud, Version: environment.UserAgent(), Files: digests(from), Started: time.Now()})
}

// looks reports whether a command changes nothing by its flags: --dry-run, or sweep without
// --delete.
func looks(cmd *cobra.Command) bool {
	if only, _ := cmd.Flags().GetBool("dry-run"); only {
		return true
	}
	deletes, err := cmd.Flags().GetBool("delete")
	return err == nil && !deletes
}

// commandLine is the command with its arguments and the flags that were given. Values of
// settings are left out: they may be secrets.
func commandLine(cmd *cobra.Command, args []string) string {
	words := append([]string{cmd.CommandPath()}, args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if slices.Contains([]string{"set", "set-string", "values"}, f.Name) {
			value = "…"
		}
		words = append(words, "--"+f.Name+"="+value)
	})
	return strings.Join(words, " ")
}

// digests are the environment files with their SHA-256, with the layer that --env names.
func digests(from environment.Flags) []runlog.File {
	names := slices.Clone(from.Files)
	if from.Name != "" {
		names = append(names, from.Layer())
	}
	files := []runlog.File{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		sum := sha256.Sum256(text)
		files = append(files, runlog.File{Name: name, SHA256: hex.EncodeToString(sum[:])})
	}
	return files
}
