package steadfast;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;

/** A server process of our own: killed and started again on the same data. */
final class Server implements AutoCloseable {
  final String address;
  private final Path folder;
  private Process process;

  Server() throws IOException {
    folder = Files.createTempDirectory("steadfast-java-");
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      address = "127.0.0.1:" + socket.getLocalPort();
    }
    open();
  }

  /** Pulls the plug, and starts again on what is on disk. */
  void killAndRestart() throws Exception {
    process.destroyForcibly().waitFor();
    open();
  }

  @Override
  public void close() throws InterruptedException {
    process.destroy();
    process.waitFor();
  }

  private void open() throws IOException {
    var binary = System.getenv("STEADFAST_BIN");
    if (binary == null) throw new IOException("STEADFAST_BIN must name the steadfast binary");
    var db = folder.resolve("steadfast.db").toString();
    var builder = new ProcessBuilder(binary, "serve", "--db", db, "--grpc", address);
    builder.environment().put("STEADFAST_HTTP", "127.0.0.1:0");
    process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    var lines = new BufferedReader(new InputStreamReader(process.getInputStream()));
    for (var line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith("press Ctrl-C")) return;
    }
    throw new IOException(binary + " ended before it served");
  }
}
