// Package settings reads what a program of cert-manager is told to do: the
// defaults, over them a configuration file, and over that the flags.
package settings

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"
	logsapi "k8s.io/component-base/logs/api/v1"

	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
	"github.com/cert-manager/cert-manager/pkg/util/configfile"
	"github.com/cert-manager/cert-manager/pkg/util/feature"
)

// Settings says where a program's configuration is and how it is read. The
// pointers and functions all refer to one configuration, which holds the
// defaults to begin with.
type Settings struct {
	// Flags binds the program's flags to the configuration, those for features
	// and logs among them.
	Flags func(*pflag.FlagSet)
	// File takes the content of the file that --config names.
	File configfile.ConfigFile
	// Adopt copies what File has read into the configuration.
	Adopt func()
	// Validate lists what is wrong with the configuration.
	Validate func() field.ErrorList
	// Logging and Gates are the configuration's.
	Logging *logsapi.LoggingConfiguration
	Gates   *map[string]bool
}

// Command is the program's command line. It calls run with the command's
// context once the configuration is complete and valid.
func (s *Settings) Command(name, short string, run func(context.Context) error) *cobra.Command {
	var file string
	cmd := &cobra.Command{Use: name, Short: short}
	cmd.Flags().StringVar(&file, "config", "", "Path of a configuration file; flags take precedence over it.")
	s.Flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := s.complete(cmd, file); err != nil {
			return err
		}
		logf.FromContext(cmd.Context()).V(logf.InfoLevel).Info("starting",
			"version", util.AppVersion, "git_commit", util.AppGitCommit)
		return run(cmd.Context())
	}
	return cmd
}

func (s *Settings) complete(cmd *cobra.Command, file string) error {
	if file != "" {
		if err := s.read(cmd, file); err != nil {
			return fmt.Errorf("reading configuration file %s: %w", file, err)
		}
	}
	if err := feature.DefaultMutableFeatureGate.SetFromMap(*s.Gates); err != nil {
		return fmt.Errorf("setting feature gates: %w", err)
	}
	if problems := s.Validate(); len(problems) > 0 {
		return fmt.Errorf("checking configuration: %w", problems.ToAggregate())
	}
	if err := logf.ValidateAndApply(s.Logging); err != nil {
		return fmt.Errorf("setting up logs: %w", err)
	}
	return nil
}

// read lets the file replace the configuration, and then the flags, parsed a
// second time, replace what the file says.
func (s *Settings) read(cmd *cobra.Command, file string) error {
	path, err := filepath.Abs(file) // the loader resolves paths in the file against its folder
	if err != nil {
		return err
	}
	loader, err := configfile.NewConfigurationFSLoader(nil, path)
	if err != nil {
		return err
	}
	if err := loader.Load(s.File); err != nil {
		return err
	}
	s.Adopt()
	return cmd.ParseFlags(os.Args[1:])
}
