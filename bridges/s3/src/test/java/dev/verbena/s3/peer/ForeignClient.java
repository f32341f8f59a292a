package dev.verbena.s3.peer;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;

/**
 * The client of another implementation: memory that a server accesses by a token.
 *
 * @param memory the memory, which can be gone when it is deregistered
 * @param token the token
 * @param deregister deregisters the memory
 */
public record ForeignClient(MemorySegment memory, String token, Runnable deregister) {
  private static final long DC_KEY = 0xffee_ddccL;
  private static final byte PORT = 1;
  private static final long OFFSET = 8192;

  /**
   * Returns a client of MinIO's libs3rdma: {@code s3rdma.h}. Its memory begins within a region.
   *
   * @param library the library
   * @param device the name of a device
   * @param gid the index of a GID
   * @param size of the memory
   * @return the client
   */
  public static ForeignClient s3rdma(Path library, String device, int gid, long size) {
    CLibrary c = new CLibrary(library);
    MemorySegment error = Arena.global().allocate(500);
    MemorySegment client =
        c.pointer("s3rdma_client_init", device + ":1:" + gid, error, error.byteSize());
    MemorySegment region = Arena.global().allocate(OFFSET + size, OFFSET);
    c.succeed("s3rdma_client_register", client, region, region.byteSize());
    MemorySegment token = Arena.global().allocate(ValueLayout.ADDRESS);
    c.succeed("s3rdma_client_get_token", client, region, size, OFFSET, token);
    return new ForeignClient(
        region.asSlice(OFFSET),
        text(token.get(ValueLayout.ADDRESS, 0)),
        () -> c.succeed("s3rdma_client_deregister", client, region));
  }

  /**
   * Returns a client of Versity's gateway: {@code rdma_host_client_wrapper.h}.
   *
   * @param library the library
   * @param device the name of a device
   * @param gid the index of a GID
   * @param size of the memory
   * @return the client
   */
  public static ForeignClient versity(Path library, String device, int gid, long size) {
    CLibrary c = new CLibrary(library);
    MemorySegment client = c.pointer("rdma_host_client_create", device, PORT, gid, DC_KEY);
    return new ForeignClient(
        c.pointer("rdma_host_client_alloc", client, size).reinterpret(size),
        text(c.pointer("rdma_host_client_token", client)),
        () -> c.run("rdma_host_client_free", client));
  }

  private static String text(MemorySegment pointer) {
    return pointer.reinterpret(Integer.MAX_VALUE).getString(0);
  }
}
