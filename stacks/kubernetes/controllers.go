package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/addons/scheduledbackup"
	"github.com/slipway-sh/slipway/internal/kube"
)

// ControllersInputs are the inputs of Slipway's own controllers.
type ControllersInputs struct {
	Login
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	// ServerID is the cluster's server; on a new server everything is installed again.
	ServerID string `pulumi:"serverID"`
	// Image is the reference of their image.
	Image string `pulumi:"image"`
	// Replicas of each; one is enough on a single node.
	Replicas int `pulumi:"replicas"`
	// Alone says that the cluster is a seed: one node, where controllers hold no lease.
	Alone bool `pulumi:"alone,optional"`
	// TrustBundle holds additional PEM certificates that they trust.
	TrustBundle string `pulumi:"trustBundle"`
	// Environment holds their environment variables: the proxy.
	Environment map[string]string `pulumi:"environment,optional" provider:"secret"`
	// Version is the version of this binary, which contains their manifests. The
	// provider library reserves the name "version".
	Version string `pulumi:"slipwayVersion"`
	// Fence is controllers.Fence as JSON; empty is none. It contains a login.
	Fence string `pulumi:"fence,optional" provider:"secret"`
	// Backup is scheduledbackup.Settings as JSON; empty is none. It contains a login and
	// the writer's key.
	Backup string `pulumi:"backup,optional" provider:"secret"`
}

// ControllersState is the state of Slipway's own controllers.
type ControllersState struct{ ControllersInputs }

// Controllers are the addon provider and the janitor in a program. They count as created
// when they are available.
type Controllers struct{ pulumi.CustomResourceState }

// ControllersRefs are the inputs of NewControllers.
type ControllersRefs struct {
	LoginRefs
	Kubeconfig, ServerID        pulumi.StringInput
	Image, TrustBundle, Version string
	Replicas                    int
	Alone                       bool
	Environment                 map[string]string
	// Fence and Backup are nil if there is none.
	Fence, Backup pulumi.StringInput
}

// NewControllers adds the controllers to the program.
func NewControllers(ctx *pulumi.Context, name string, refs ControllersRefs, options ...pulumi.ResourceOption) (*Controllers, error) {
	properties := refs.properties()
	properties["kubeconfig"] = pulumi.ToSecret(refs.Kubeconfig)
	properties["serverID"] = refs.ServerID
	properties["image"] = pulumi.String(refs.Image)
	properties["trustBundle"] = pulumi.String(refs.TrustBundle)
	properties["slipwayVersion"] = pulumi.String(refs.Version)
	properties["replicas"] = pulumi.Int(refs.Replicas)
	if refs.Alone {
		properties["alone"] = pulumi.Bool(true)
	}
	if len(refs.Environment) > 0 {
		properties["environment"] = pulumi.ToStringMap(refs.Environment)
	}
	if refs.Fence != nil {
		properties["fence"] = pulumi.ToSecret(refs.Fence)
	}
	if refs.Backup != nil {
		properties["backup"] = pulumi.ToSecret(refs.Backup)
	}
	r := &Controllers{}
	return r, ctx.RegisterResource("slipway:kubernetes:Controllers", name, properties, r, options...)
}

func (s ControllersState) inputs() ControllersInputs { return s.ControllersInputs }

type ownControllers struct {
	controller[ControllersInputs, ControllersState]
}

// Annotate names the resource's type.
func (*ownControllers) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "Controllers") }

// controllersTime is how long they may go without progress until they are available.
const controllersTime = 10 * time.Minute

type controllersKind struct{}

func (controllersKind) object(ControllersInputs) string { return "controllers" }

func (controllersKind) id(ControllersInputs) string { return "controllers" }

func (controllersKind) blank(in ControllersInputs) ControllersState { return ControllersState{in} }

func (k controllersKind) settle(ctx context.Context, in ControllersInputs) (ControllersState, error) {
	fence, err := readFence(in.Fence)
	if err != nil {
		return k.blank(in), err
	}
	var backup *scheduledbackup.Settings
	if in.Backup != "" {
		settings, err := scheduledbackup.ParseSettings([]byte(in.Backup))
		if err != nil {
			return k.blank(in), err
		}
		backup = &settings
	}
	machine, err := in.reach(ctx)
	if err != nil {
		return k.blank(in), err
	}
	defer machine.Close()
	on, err := Reach(machine, in.Kubeconfig)
	if err != nil {
		return k.blank(in), err
	}
	if backup == nil {
		if err := withoutBackup(ctx, on); err != nil {
			return k.blank(in), err
		}
	}
	return k.blank(in), applyControllers(ctx, on, controllers.Options{Image: in.Image, Replicas: in.Replicas, Alone: in.Alone, TrustBundle: in.TrustBundle, Environment: in.Environment, Fence: fence, Backup: backup})
}

// withoutBackup removes what makes backups, with its key and login. The record stays.
func withoutBackup(ctx context.Context, on *kube.Cluster) error {
	err := on.Typed.AppsV1().Deployments(controllers.BackupNamespace).Delete(ctx, controllers.BackupName, metav1.DeleteOptions{})
	if err == nil || kube.Absent(err) {
		err = on.Typed.CoreV1().Secrets(controllers.BackupNamespace).Delete(ctx, controllers.BackupSettings, metav1.DeleteOptions{})
	}
	if err != nil && !kube.Absent(err) {
		return fmt.Errorf("removing the scheduled backups: %w", err)
	}
	return nil
}

// readFence reads what an input of the name fence has; nil is none.
func readFence(text string) (*controllers.Fence, error) {
	if text == "" {
		return nil, nil
	}
	fence := &controllers.Fence{}
	if err := json.Unmarshal([]byte(text), fence); err != nil {
		return nil, errors.New("reading the settings of the fence: they are not JSON") // the library's error could quote the login
	}
	return fence, nil
}

// applyControllers applies them and waits until they are available.
func applyControllers(ctx context.Context, on *kube.Cluster, options controllers.Options) error {
	ctx, tell, stop := patient(ctx, controllersTime, "they are not available")
	defer stop()
	return applyControllersTelling(ctx, on, options, tell)
}

// applyControllersTelling is applyControllers with another's patience.
func applyControllersTelling(ctx context.Context, on *kube.Cluster, options controllers.Options, tell func(string)) error {
	objects, err := controllers.Objects(options)
	if err != nil {
		return err
	}
	tell("applying")
	if err := on.ApplyObjects(ctx, objects); err != nil {
		return err
	}
	return on.WaitAvailable(ctx, options.Deployments(), tell)
}
