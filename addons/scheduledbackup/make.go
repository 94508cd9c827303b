package scheduledbackup

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/capture"
	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/backup/tenants"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
)

// maker makes one backup after the other, each with a login of its own.
type maker struct {
	settings  Settings
	config    *rest.Config
	client    kubernetes.Interface
	userAgent string
	wrap      func(http.RoundTripper) http.RoundTripper
	// folder is where k3s keeps its data, on a seed.
	folder string
	// allowed, if set, is why no backup may be made now.
	allowed func(context.Context) error
}

// open opens the cloud and the repository. The cloud may be away if the backups are in
// S3: then away says why.
func (m maker) open(ctx context.Context) (r *backup.Repository, c *cloud.Cloud, away, err error) {
	at, err := location.Parse(m.settings.Target)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("target %s: %w", m.settings.Target, err)
	}
	if m.settings.Machine != "" {
		at = at.Below(location.Seed)
	}
	c, away = cloud.Open(ctx, cloud.Options{Cloud: "openstack", CloudsYAML: []byte(m.settings.Clouds), UserAgent: m.userAgent, Wrap: m.wrap})
	access := target.Access{Swift: func() (*gophercloud.ServiceClient, error) {
		if away != nil {
			return nil, away
		}
		return c.ObjectStore()
	}}
	if s3 := m.settings.S3; s3 != nil {
		access.S3 = credentials.NewStaticCredentialsProvider(s3.AccessKeyID, s3.SecretAccessKey, "")
	}
	if m.settings.CA != "" {
		if access.Authorities, err = x509.SystemCertPool(); err != nil {
			access.Authorities = x509.NewCertPool()
		}
		if !access.Authorities.AppendCertsFromPEM([]byte(m.settings.CA)) {
			return nil, c, away, errors.New("the CA of the target contains no certificate")
		}
	}
	t, err := target.Open(at, access)
	if err != nil {
		return nil, c, away, err
	}
	r, err = backup.Open(ctx, t, backup.Options{Environment: m.settings.Environment, Signers: m.settings.Signers, Recipients: m.settings.Recipients, Key: backup.Key(m.settings.Key)})
	return r, c, away, err
}

// make makes a backup.
func (m maker) make(ctx context.Context) (backup.Backup, error) {
	r, c, away, err := m.open(ctx)
	if c != nil {
		defer c.Close()
	}
	if err != nil {
		return backup.Backup{}, err
	}
	w, err := r.Begin(ctx)
	if err != nil {
		return backup.Backup{}, err
	}
	fill := m.fill
	if m.settings.Machine != "" {
		fill = m.fillSeed
	}
	s, err := fill(ctx, w, c, away)
	if err == nil && m.allowed != nil { // another management cluster may have taken over meanwhile
		err = m.allowed(ctx)
	}
	if err != nil {
		w.Abort()
		return backup.Backup{}, err
	}
	return w.Commit(ctx, s)
}

// fill reads the cluster and the cloud. What the operator's machine alone knows is in
// the cluster's Secret backup.SealedName.
func (m maker) fill(ctx context.Context, w *backup.Writer, c *cloud.Cloud, away error) (*snapshot.Snapshot, error) {
	s := &snapshot.Snapshot{Environment: m.settings.Environment, Slipway: component.SlipwayVersion()}
	var err error
	if s.Generation, err = restore.Current(ctx, m.client); err != nil {
		return nil, err
	}
	sink := &sink{Writer: w}
	read, err := capture.Read(ctx, m.config, capture.Options{Groups: m.settings.Groups}, sink)
	if err != nil {
		return nil, err
	}
	s.Taken, s.Revision, s.Kubernetes, s.Controllers = read.Ended, read.Revision, read.Kubernetes, read.Controllers
	if away == nil {
		s.Cloud, away = capture.Inventory(ctx, c)
	}
	if away != nil { // the objects are worth a backup all the same
		s.Cloud.Missing = append(s.Cloud.Missing, away.Error())
	}
	return s, sink.logins.Add(ctx, &s.Cloud, m.userAgent)
}

// sink writes objects, and looks at them for the logins of clusters.
type sink struct {
	*backup.Writer
	logins tenants.Logins
}

// Begin implements capture.Sink.
func (s *sink) Begin(context.Context) error {
	s.Restart()
	s.logins.Reset()
	return nil
}

// Add implements capture.Sink.
func (s *sink) Add(ctx context.Context, o backup.Object) error {
	if err := s.logins.Note(o); err != nil {
		return err
	}
	return s.Writer.Add(ctx, o)
}

// prune removes backups that are not to be kept. The pins of rebuilds that need theirs no more end
// first: where backups have a schedule, hardly anybody runs slipway backup prune, which does it too.
func (m maker) prune(ctx context.Context) error {
	r, c, _, err := m.open(ctx)
	if c != nil {
		defer c.Close()
	}
	if err != nil {
		return err
	}
	if m.settings.Machine == "" {
		known, err := restore.ReadRebuild(ctx, &kube.Cluster{Typed: m.client})
		if err != nil {
			return err
		}
		if err := known.EndPins(ctx, r); err != nil {
			return err
		}
	}
	_, err = r.Prune(ctx, m.settings.Keep, false)
	return err
}
