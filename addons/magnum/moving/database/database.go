// Package database reads what OpenStack's Magnum keeps in its database: from a
// running MariaDB, MySQL or PostgreSQL, or from a plain dump of one. It only
// reads, in one transaction, and it says by name what is missing.
package database

import (
	"fmt"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Database is the part of a Magnum database that is moved.
type Database struct {
	// Revision is that of the schema, Releases the releases of Magnum that have it.
	Revision, Releases string
	// Partial is what the API showed: there are no certificates and no trusts.
	Partial bool

	Templates []Template
	Clusters  []Cluster
	// Groups are in order of their ids.
	Groups []NodeGroup
	Quotas []Quota
	// KeyPairs is the certificate store in the database, by UUID.
	KeyPairs map[string]KeyPair
}

// Row is what all rows have.
type Row struct {
	ID               int64
	Created, Updated *time.Time
}

// Template is a row of cluster_template.
type Template struct {
	Row
	UUID, ProjectID, UserID, Name                       string
	ImageID, FlavorID, MasterFlavorID, KeypairID        string
	ExternalNetworkID, FixedNetwork, FixedSubnet        string
	NetworkDriver, VolumeDriver, DNSNameserver          string
	APIServerPort, DockerVolumeSize                     int32
	DockerStorageDriver, ClusterDistro, COE, ServerType string
	HTTPProxy, HTTPSProxy, NoProxy, InsecureRegistry    string
	RegistryEnabled, TLSDisabled, Public, Hidden        bool
	MasterLBEnabled, FloatingIPEnabled                  bool
	Tags, Driver                                        string
	Labels                                              map[string]string
}

// Cluster is a row of cluster.
type Cluster struct {
	Row
	UUID, ProjectID, UserID, Name, TemplateID, Keypair string
	DockerVolumeSize                                   int32
	Labels                                             map[string]string
	MasterFlavorID, FlavorID, StackID, APIAddress      string
	Status, StatusReason, HealthStatus                 string
	HealthStatusReason                                 map[string]string
	CreateTimeout                                      *int32
	COEVersion, ContainerVersion                       string
	FixedNetwork, FixedSubnet                          string
	FloatingIPEnabled, MasterLBEnabled                 bool
	// References into the certificate store.
	CARef, MagnumRef, EtcdRef, FrontProxyRef string
	// TrustID and TrusteeID are there up to 2025.1.
	TrustID, TrusteeID string
}

// NodeGroup is a row of nodegroup.
type NodeGroup struct {
	Row
	UUID, Name, ClusterID, ProjectID, Role string
	DockerVolumeSize                       int32
	Labels, NodeLabels                     map[string]string
	NodeTaints                             []map[string]string
	FlavorID, ImageID                      string
	NodeAddresses                          []string
	NodeCount, MinNodeCount                int32
	MaxNodeCount                           *int32
	IsDefault                              bool
	StackID, Status, StatusReason, Version string
}

// Quota is a row of quotas.
type Quota struct {
	Row
	ProjectID, Resource string
	HardLimit           int32
}

// KeyPair is a row of x509keypair: a certificate with its key.
type KeyPair struct{ Certificate, PrivateKey, Passphrase string }

// revisionTable says how the schema is, in Alembic's word.
const revisionTable = "alembic_version"

// tables are the tables that are read.
func wantedTables() []string {
	return []string{revisionTable, "cluster_template", "cluster", "nodegroup", "quotas", "x509keypair"}
}

// releases are the revisions that can be read, with the releases of Magnum that
// end with them.
func releases() map[string]string {
	return map[string]string{
		"7da8489d6a68": "up to 2023.2", "c0f832afc4fd": "2024.1 to 2025.1",
		"d7e6a4d39fe4": "2025.2 and 2026.1", "b3e1cf4a2d5e": "2026.2",
	}
}

const again = "dump the database again with mysqldump or pg_dump, all tables, and wait for its end"

// decode makes rows of tables.
func decode(all map[string]*table) (*Database, error) {
	for _, name := range wantedTables() {
		if all[name] == nil {
			return nil, fault.New("table "+name, fmt.Errorf("it is missing: this is no complete database of Magnum"), again)
		}
	}
	head := &Database{}
	if err := head.revision(all[revisionTable]); err != nil {
		return nil, err
	}
	d, err := decodeRows(all)
	d.Revision, d.Releases = head.Revision, head.Releases
	return d, err
}

// decodeRows makes rows of the tables that are not Alembic's.
func decodeRows(all map[string]*table) (*Database, error) {
	d, r := &Database{KeyPairs: map[string]KeyPair{}}, &reader{}
	each(r, all["cluster_template"], func() { d.Templates = append(d.Templates, r.template()) })
	each(r, all["cluster"], func() { d.Clusters = append(d.Clusters, r.cluster()) })
	each(r, all["nodegroup"], func() { d.Groups = append(d.Groups, r.group()) })
	each(r, all["quotas"], func() { d.Quotas = append(d.Quotas, r.quota()) })
	each(r, all["x509keypair"], func() {
		d.KeyPairs[r.must("uuid")] = KeyPair{r.must("certificate"), r.text("private_key"), r.text("private_key_passphrase")}
	})
	return d, r.err()
}

func (d *Database) revision(t *table) error {
	r := &reader{table: t}
	if len(t.rows) != 1 {
		return fault.New("table "+revisionTable, fmt.Errorf("it has %d rows, not one", len(t.rows)), again)
	}
	r.row = t.rows[0]
	d.Revision = r.must("version_num")
	if err := r.err(); err != nil {
		return err
	}
	d.Releases = releases()[d.Revision]
	if d.Releases == "" {
		var known []string
		for revision, of := range releases() {
			known = append(known, revision+" ("+of+")")
		}
		return fault.New("database of Magnum", fmt.Errorf("its schema is of revision %s; known are %s", d.Revision, strings.Join(sorted(known), ", ")),
			"upgrade Magnum to 2023.2 or later with magnum-db-manage upgrade; for a release newer than these you need a newer Slipway")
	}
	return nil
}
