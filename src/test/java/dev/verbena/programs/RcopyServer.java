package dev.verbena.programs;

import dev.verbena.Errno;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/** The end of rcopy that receives files: of one client. */
final class RcopyServer implements AutoCloseable {
  private static final int PART = 1 << 20;
  private static final int PERMISSIONS = 0777;

  private final SocketChannel channel;
  private final PrintWriter out;
  private FileChannel file;

  RcopyServer(SocketChannel channel, PrintWriter out) {
    this.channel = channel;
    this.out = out;
  }

  /** Answers requests until the client ends the connection, or one fails. */
  void serve() throws IOException {
    int errno = 0;
    Optional<RcopyMessage> request = RcopyMessage.receive(channel);
    while (errno == 0 && request.isPresent()) {
      errno = answer(request.get());
      RcopyMessage.of(request.get().command() | RcopyMessage.RESPONSE, errno).send(channel);
      request = errno == 0 ? RcopyMessage.receive(channel) : request;
    }
  }

  /** Does what is requested; returns 0 or an errno. */
  private int answer(RcopyMessage request) throws IOException {
    return switch (request.command()) {
      case RcopyMessage.OPEN -> open(request);
      case RcopyMessage.WRITE -> write(request.more());
      case RcopyMessage.CLOSE -> {
        out.print("closing...");
        close();
        out.println("done");
        yield 0;
      }
      default -> Errno.EINVAL;
    };
  }

  private int open(RcopyMessage request) throws IOException {
    String name = StandardCharsets.UTF_8.decode(request.more()).toString();
    int end = name.indexOf('\0');
    Path path;
    try {
      path = Path.of(end < 0 ? name : name.substring(0, end));
    } catch (InvalidPathException e) {
      out.println("opening: invalid name: " + e.getMessage());
      return Errno.EINVAL;
    }
    out.printf("opening: %s, ", path);
    out.flush();
    if (file != null) {
      out.println("cannot open another file");
      return Errno.EBUSY;
    }
    try {
      file =
          FileChannel.open(
              path,
              StandardOpenOption.CREATE,
              StandardOpenOption.TRUNCATE_EXISTING,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE);
      Files.setAttribute(path, "unix:mode", request.data() & PERMISSIONS);
      return 0;
    } catch (IOException e) {
      out.println("unable to open destination file");
      return e instanceof NoSuchFileException ? Errno.ENOENT : Errno.EACCES;
    }
  }

  private int write(ByteBuffer more) throws IOException {
    out.print("transferring");
    if (file == null || more.remaining() != Long.BYTES) {
      out.println("...file not opened");
      return Errno.EINVAL;
    }
    long size = more.getLong();
    out.printf("...%d bytes...", size);
    out.flush();
    ByteBuffer part = ByteBuffer.allocateDirect(PART);
    for (long left = size; left > 0; left -= part.limit()) {
      part.clear().limit((int) Math.min(PART, left));
      RcopyMessage.fill(channel, part);
      try {
        part.flip();
        while (part.hasRemaining()) {
          int _ = file.write(part);
        }
      } catch (IOException e) {
        out.println("error writing data: " + e.getMessage());
        return Errno.ENOSPC;
      }
    }
    return 0;
  }

  @Override
  public void close() throws IOException {
    if (file != null) {
      file.close();
      file = null;
    }
  }
}
