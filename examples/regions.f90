! regions.f90 - a Fortran program that multiplies by cublasDgemm's C interface, and runs one of two
! equal products in another mode. Started by `tandem run`, or with Tandem preloaded:
!     tandem run --mode native -- ./regions
program regions
    use, intrinsic :: iso_c_binding
    use tandem
    implicit none

    integer, parameter :: n = 64
    integer(c_int), parameter :: to_device = 1, to_host = 2, as_is = 0
    integer(c_size_t), parameter :: bytes = 8_c_size_t * n * n
    real(c_double), target :: a(n, n), b(n, n), c(n, n, 2)
    real(c_double), target :: one = 1.0_c_double, zero = 0.0_c_double
    type(c_ptr) :: handle, device_a, device_b, device_c
    integer :: i

    ! CUDA's and cuBLAS's own functions.
    interface
        integer(c_int) function cuda_malloc(memory, bytes) bind(c, name='cudaMalloc')
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), intent(out) :: memory
            integer(c_size_t), value :: bytes
        end function
        integer(c_int) function cuda_memcpy(to, from, bytes, kind) bind(c, name='cudaMemcpy')
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: to, from
            integer(c_size_t), value :: bytes
            integer(c_int), value :: kind
        end function
        integer(c_int) function cublas_create(handle) bind(c, name='cublasCreate_v2')
            import :: c_int, c_ptr
            type(c_ptr), intent(out) :: handle
        end function
        integer(c_int) function cublas_dgemm(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, &
                c, ldc) bind(c, name='cublasDgemm_v2')
            import :: c_int, c_ptr
            type(c_ptr), value :: handle, alpha, a, b, beta, c
            integer(c_int), value :: op_a, op_b, m, n, k, lda, ldb, ldc
        end function
    end interface

    call random_number(a)
    call random_number(b)
    call require(cublas_create(handle) == 0, 'cublasCreate')
    call require(cuda_malloc(device_a, bytes) == 0, 'cudaMalloc')
    call require(cuda_malloc(device_b, bytes) == 0, 'cudaMalloc')
    call require(cuda_malloc(device_c, bytes) == 0, 'cudaMalloc')
    call require(cuda_memcpy(device_a, c_loc(a), bytes, to_device) == 0, 'cudaMemcpy')
    call require(cuda_memcpy(device_b, c_loc(b), bytes, to_device) == 0, 'cudaMemcpy')

    do i = 1, 2
        if (i == 2) call require(tandem_push('df'//c_null_char) == TANDEM_OK, 'tandem_push')
        call require(cublas_dgemm(handle, as_is, as_is, n, n, n, c_loc(one), device_a, n, device_b, n, &
            c_loc(zero), device_c, n) == 0, 'cublasDgemm')
        if (i == 2) call require(tandem_pop() == TANDEM_OK, 'tandem_pop')
        call require(cuda_memcpy(c_loc(c(:, :, i)), device_c, bytes, to_host) == 0, 'cudaMemcpy')
    end do

    print '(a, es8.1, a, es8.1)', 'first product off by ', error_of(c(:, :, 1)), &
        ', second by ', error_of(c(:, :, 2))

contains

    subroutine require(is_good, what)
        logical, intent(in) :: is_good
        character(*), intent(in) :: what
        if (is_good) return
        print '(3a)', what, ' failed: ', tandem_message()
        stop 1
    end subroutine

    ! The largest distance from a product in twice the digits.
    real(c_double) function error_of(product)
        real(c_double), intent(in) :: product(n, n)
        integer, parameter :: long = selected_real_kind(30)
        error_of = real(maxval(abs(matmul(real(a, long), real(b, long)) - product)), c_double)
    end function
end program
