package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Client is an etcd cluster that is reached by its members' client URLs.
type Client struct {
	api *clientv3.Client
	// tls is nil for clusters without it.
	tls *tls.Config
	// dial connects; nil is directly.
	dial func(ctx context.Context, address string) (net.Conn, error)
	// call and defragment bound one call, and one that rewrites a database.
	call, defragment time.Duration
}

// Dial makes a client by the address of one member. defragment bounds the
// defragmentation of one member. Nothing is connected yet.
func Dial(endpoint string, config *tls.Config, defragment time.Duration) (*Client, error) {
	return DialBy(nil, endpoint, config, defragment)
}

// DialBy is Dial with connections that dial makes, as through a machine beside the members.
func DialBy(dial func(ctx context.Context, address string) (net.Conn, error), endpoint string, config *tls.Config, defragment time.Duration) (*Client, error) {
	c := &Client{tls: config, dial: dial, call: 10 * time.Second, defragment: defragment}
	api, err := c.connect(endpoint)
	c.api = api
	return c, err
}

func (c *Client) connect(endpoint string) (*clientv3.Client, error) {
	options := clientv3.Config{Endpoints: []string{endpoint}, TLS: c.tls, DialTimeout: c.call, Logger: zap.NewNop()}
	if c.dial != nil {
		options.DialOptions = []grpc.DialOption{grpc.WithContextDialer(c.dial)}
	}
	api, err := clientv3.New(options)
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd at %s: %w", endpoint, err)
	}
	return api, nil
}

// Close ends the client's connections.
func (c *Client) Close() error { return c.api.Close() }

// Members implements [Cluster]. A member that does not answer has a Problem.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	asking, cancel := context.WithTimeout(ctx, c.call)
	defer cancel()
	list, err := c.api.MemberList(asking)
	if err != nil {
		return nil, err
	}
	corrupt, err := c.corrupt(asking)
	if err != nil {
		return nil, err
	}
	members := make([]Member, 0, len(list.Members))
	for _, one := range list.Members {
		m := Member{ID: one.ID, Name: one.Name, Learner: one.IsLearner}
		switch {
		case len(one.ClientURLs) == 0:
			m.Problem = errors.New("it has not started")
		case corrupt[one.ID]:
			m.Problem = ErrCorrupt
		default:
			m.Endpoint = one.ClientURLs[0]
			c.look(ctx, &m)
		}
		members = append(members, m)
	}
	return members, nil
}

// corrupt are the members with that alarm. Alarms of space are what is to be
// cured.
func (c *Client) corrupt(ctx context.Context) (map[uint64]bool, error) {
	alarms, err := c.api.AlarmList(ctx)
	if err != nil {
		return nil, err
	}
	members := map[uint64]bool{}
	for _, alarm := range alarms.Alarms {
		if alarm.Alarm == etcdserverpb.AlarmType_CORRUPT {
			members[alarm.MemberID] = true
		}
	}
	return members, nil
}

// look fills in how a member is: what it says of itself, and that it reads by
// consensus, which is how etcdctl tells health.
func (c *Client) look(ctx context.Context, m *Member) {
	m.Problem = c.at(ctx, m.Endpoint, c.call, func(ctx context.Context, api *clientv3.Client) error {
		status, err := api.Status(ctx, m.Endpoint)
		if err != nil {
			return err
		}
		m.LeaderID, m.Size, m.InUse = status.Leader, status.DbSize, status.DbSizeInUse
		for _, complaint := range status.Errors {
			if !strings.Contains(complaint, "NOSPACE") {
				return errors.New(complaint)
			}
		}
		if m.Learner { // reads from nobody but itself
			return nil
		}
		if _, err = api.Get(ctx, "health"); errors.Is(err, rpctypes.ErrPermissionDenied) {
			return nil // it was agreed upon
		}
		return err
	})
}

// at does something at one member and nowhere else.
func (c *Client) at(ctx context.Context, endpoint string, limit time.Duration, do func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	api, err := c.connect(endpoint)
	if err != nil {
		return err
	}
	defer api.Close()
	return do(ctx, api)
}

// Defragment implements [Cluster].
func (c *Client) Defragment(ctx context.Context, m Member) error {
	return c.at(ctx, m.Endpoint, c.defragment, func(ctx context.Context, api *clientv3.Client) error {
		_, err := api.Defragment(ctx, m.Endpoint)
		return err
	})
}

// MoveLeader implements [Cluster].
func (c *Client) MoveLeader(ctx context.Context, from, to Member) error {
	return c.at(ctx, from.Endpoint, c.call, func(ctx context.Context, api *clientv3.Client) error {
		_, err := api.MoveLeader(ctx, to.ID)
		return err
	})
}

// ClearSpaceAlarms implements [Cluster]. Alarms of corruption stay.
func (c *Client) ClearSpaceAlarms(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.call)
	defer cancel()
	alarms, err := c.api.AlarmList(ctx)
	if err != nil {
		return err
	}
	for _, alarm := range alarms.Alarms {
		if alarm.Alarm != etcdserverpb.AlarmType_NOSPACE {
			continue
		}
		if _, err := c.api.AlarmDisarm(ctx, (*clientv3.AlarmMember)(alarm)); err != nil {
			return err
		}
	}
	return nil
}

// Snapshot implements [Copier]. The stream ends with the digest that etcdutl checks.
func (c *Client) Snapshot(ctx context.Context, m Member, to io.Writer) (int64, error) {
	api, err := c.connect(m.Endpoint)
	if err != nil {
		return 0, err
	}
	defer api.Close()
	from, err := api.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	return io.Copy(to, from)
}
