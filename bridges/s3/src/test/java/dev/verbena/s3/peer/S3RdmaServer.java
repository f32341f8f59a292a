package dev.verbena.s3.peer;

import dev.verbena.s3.server.Mover;
import dev.verbena.s3.server.Token;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;

/** The server of MinIO's libs3rdma, {@code s3rdma.h}, without HTTP. */
public final class S3RdmaServer implements Mover {
  private static final long SIZE = 16 << 20;
  private static final short NO_CHANNEL = -1;

  /** {@code struct S3RdmaStatusC}: the number of bytes, and the status of the completion. */
  private static final StructLayout STATUS =
      MemoryLayout.structLayout(
          ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, MemoryLayout.paddingLayout(4));

  private final CLibrary c;
  private final MemorySegment server;
  private final MemorySegment buffer;
  private final MemorySegment registration;
  private final short channel;

  /**
   * Makes a server.
   *
   * @param library the library
   * @param device the name of the device
   * @param gid the index of the GID
   */
  public S3RdmaServer(Path library, String device, int gid) {
    c = new CLibrary(library);
    MemorySegment error = Arena.global().allocate(500);
    MemorySegment config = MemorySegment.NULL;
    server =
        c.pointer(
            "s3rdma_server_init_with_config_err",
            device + ":1:" + gid,
            0,
            config,
            error,
            error.byteSize());
    if (server.address() == 0) {
      throw new IllegalStateException("no server of libs3rdma: " + error.getString(0));
    }
    buffer = c.pointer("s3rdma_alloc_host_buffer", server, SIZE).reinterpret(SIZE);
    registration = c.pointer("s3rdma_register_buffer", server, buffer, SIZE);
    channel = c.unsignedShort("s3rdma_allocate_channel", server);
    if (registration.address() == 0 || channel == NO_CHANNEL) {
      throw new IllegalStateException("libs3rdma has no buffer or channel");
    }
  }

  @Override
  public synchronized byte[] read(Token token) {
    move("s3rdma_put", token, token.size());
    return buffer.asSlice(0, token.size()).toArray(ValueLayout.JAVA_BYTE);
  }

  @Override
  public synchronized void write(Token token, byte[] data) {
    MemorySegment.copy(data, 0, buffer, ValueLayout.JAVA_BYTE, 0, data.length);
    move("s3rdma_get", token, data.length);
  }

  private void move(String function, Token token, long size) {
    long offset = 0;
    MemorySegment status =
        c.struct(STATUS, function, server, registration, token.toString(), offset, size, channel);
    long moved = status.get(ValueLayout.JAVA_LONG, 0);
    if (moved != size) {
      int code = status.get(ValueLayout.JAVA_INT, Long.BYTES);
      throw new IllegalStateException(function + " returned " + moved + ", status " + code);
    }
  }
}
