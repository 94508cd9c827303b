package server

import (
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// oneSender sends one message of a watch after the other.
type oneSender struct {
	etcdserverpb.Watch_WatchServer
	sending sync.Mutex
}

func (s *oneSender) Send(response *etcdserverpb.WatchResponse) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.Watch_WatchServer.Send(response)
}
