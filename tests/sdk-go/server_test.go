package sdk

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// server is a Steadfast process of our own: killed and started again on the same data.
type server struct {
	test    *testing.T
	address string
	db      string
	command *exec.Cmd
}

func startServer(t *testing.T) *server {
	t.Helper()
	s := &server{test: t, address: freeAddress(t), db: filepath.Join(t.TempDir(), "steadfast.db")}
	s.open()
	t.Cleanup(func() { s.end(syscall.SIGTERM) })
	return s
}

// killAndRestart pulls the plug, and starts again on what is on disk.
func (s *server) killAndRestart() {
	s.end(syscall.SIGKILL)
	s.open()
}

func (s *server) open() {
	binary := os.Getenv("STEADFAST_BIN")
	if binary == "" {
		s.test.Fatal("STEADFAST_BIN must name the steadfast binary")
	}
	s.command = exec.Command(binary, "serve", "--db", s.db, "--grpc", s.address)
	s.command.Env = append(os.Environ(), "STEADFAST_HTTP=127.0.0.1:0")
	s.command.Stderr = os.Stderr
	out, err := s.command.StdoutPipe()
	if err != nil {
		s.test.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		s.test.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "press Ctrl-C") {
			return
		}
	}
	s.test.Fatalf("%s ended before it served", binary)
}

func (s *server) end(signal syscall.Signal) {
	if err := s.command.Process.Signal(signal); err != nil {
		s.test.Error(err)
	}
	_ = s.command.Wait() // A killed process does not end well, and should not.
}

func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return fmt.Sprint(listener.Addr())
}
