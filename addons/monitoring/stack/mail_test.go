package stack

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"net"
	"net/textproto"
	"slices"
	"strings"
	"testing"
)

// mailServer takes mail as a provider's server does: after STARTTLS and a login.
type mailServer struct {
	*testing.T
	certificate tls.Certificate
	posts       chan<- post
}

// serve listens until the test ends. Each mail is a post: its path has the recipients.
func (m mailServer) serve() (address string) {
	m.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go m.talk(c)
			}
		}
	}()
	return listener.Addr().String()
}

// talk answers one client, until it goes away.
func (m mailServer) talk(c net.Conn) {
	defer func() { c.Close() }()
	text, secure, login := textproto.NewConn(c), false, ""
	var to []string
	_ = text.PrintfLine("220 mail.example.org")
	for {
		line, err := text.ReadLine()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		answer := "250 fine"
		switch {
		case verb == "EHLO" && !secure:
			answer = "250-mail.example.org\r\n250 STARTTLS"
		case verb == "EHLO":
			answer = "250-mail.example.org\r\n250 AUTH PLAIN"
		case verb == "STARTTLS":
			_ = text.PrintfLine("220 go on")
			c = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{m.certificate}})
			text, secure = textproto.NewConn(c), true
			continue
		case verb == "AUTH" && secure:
			plain, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
			login, answer = string(plain), "235 it is you"
		case verb == "QUIT":
			answer = "221 bye"
		case login == "":
			answer = "530 log in, after STARTTLS"
		case verb == "RCPT":
			to = append(to, strings.Trim(strings.TrimPrefix(rest, "TO:"), "<>"))
		case verb == "DATA":
			_ = text.PrintfLine("354 end with a dot")
			message, err := text.ReadDotBytes()
			if err != nil {
				return
			}
			slices.Sort(to)
			m.posts <- post{"mail to " + strings.Join(to, " "), login, string(message)}
		}
		_ = text.PrintfLine("%s", answer)
	}
}
